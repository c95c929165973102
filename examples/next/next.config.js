// Node imports the engine, and Next does not bundle it: it has threads, and drivers that you add.
export default {
  serverExternalPackages: ["millrace"],
  turbopack: { root: import.meta.dirname },
}
