#!/usr/bin/env node
/**
 * The process `millrace`: runs what was typed.
 *
 * What Node has compiled is kept for the next command, where Node can (from 22.8); so everything
 * else is imported after that was asked for.
 */
import module from "node:module"

module.enableCompileCache?.()
const [{ run }, { launch }] = await Promise.all([import("./CommandLine.ts"), import("./Launch.ts")])
launch(run)
