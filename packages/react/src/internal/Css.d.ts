/** What the compiler knows of style sheets: the names of their classes, as they come out. */
declare module "*.module.css" {
  const classes: Readonly<Record<string, string>>
  export = classes
}

declare module "*.css" {}
