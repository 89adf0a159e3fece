#!/usr/bin/env node
import { VERSION } from '../core/version.ts'
import { demo } from './demo.ts'

const HELP = `asyncgate ${VERSION}: the durable place where AI agents put work

  asyncgate demo [--db PATH]   a task from creation to its receipts, then a worker that dies and is replaced;
                               kept in PATH (default .asyncgate/demo.db)
  asyncgate --help             this text
  asyncgate --version

This version holds the engine: see README.md for how to embed it.
`

const [command = 'demo', ...args] = process.argv.slice(2)

switch (command) {
  case 'demo':
    await demo(args)
    break
  case '--version':
    console.log(VERSION)
    break
  case '--help':
  case 'help':
    console.log(HELP)
    break
  default:
    console.error(`There is no command "${command}".\n\n${HELP}`)
    process.exitCode = 2
}
