/** Removes types, in place: lines and columns stay as they are. */
const { stripTypeScriptTypes } = require("node:module")

exports.process = (code) => ({ code: stripTypeScriptTypes(code) })
