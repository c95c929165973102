#!/usr/bin/env node
/**
 * The process `millrace`: runs what was typed.
 */
import { run } from "./CommandLine.ts"
import { launch } from "./Launch.ts"

launch(run)
