import { expect, test } from 'vitest'
import { VERSION } from '../../src/util/version.ts'
import { repositoryText } from './documents.ts'

test('VERSION is the version of the package', () => {
  expect(JSON.parse(repositoryText('package.json')).version).toBe(VERSION)
})
