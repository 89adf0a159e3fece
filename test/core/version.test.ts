import { expect, test } from 'vitest'
import { VERSION } from '../../src/util/version.ts'
import { repositoryText } from './documents.ts'

test('the version that the code tells is the one of the package', () => {
  expect(JSON.parse(repositoryText('package.json')).version).toBe(VERSION)
})
