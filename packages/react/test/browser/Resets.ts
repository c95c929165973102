/**
 * What style sheets of applications say of plain elements, outside of layers: excerpts of the
 * resets of Tailwind 3 and of Bootstrap 5.
 */
export const resets = {
  tailwind: `
    *, ::before, ::after {
      box-sizing: border-box;
      border-width: 0;
      border-style: solid;
      border-color: #e5e7eb;
    }
    blockquote, dl, dd, h1, h2, h3, h4, h5, h6, hr, figure, p, pre { margin: 0; }
    h1, h2, h3, h4, h5, h6 { font-size: inherit; font-weight: inherit; }
    a { color: inherit; text-decoration: inherit; }
    b, strong { font-weight: bolder; }
    small { font-size: 80%; }
    button, input, optgroup, select, textarea {
      font-family: inherit; font-size: 100%; font-weight: inherit; line-height: inherit;
      letter-spacing: inherit; color: inherit; margin: 0; padding: 0;
    }
    button, [type="button"] {
      -webkit-appearance: button;
      background-color: transparent;
      background-image: none;
    }
    fieldset { margin: 0; padding: 0; }
    ol, ul, menu { list-style: none; margin: 0; padding: 0; }
    dialog { padding: 0; }
    textarea { resize: vertical; }
    button { cursor: pointer; }
    img, svg, video, canvas { display: block; vertical-align: middle; }
    img, video { max-width: 100%; height: auto; }
  `,
  bootstrap: `
    *, *::before, *::after { box-sizing: border-box; }
    h1, h2, h3, h4, h5, h6 {
      margin-top: 0;
      margin-bottom: .5rem;
      font-weight: 500;
      line-height: 1.2;
    }
    h2 { font-size: 2rem; }
    h3 { font-size: 1.75rem; }
    p { margin-top: 0; margin-bottom: 1rem; }
    ol, ul { padding-left: 2rem; }
    ol, ul, dl { margin-top: 0; margin-bottom: 1rem; }
    ol ol, ul ul, ol ul, ul ol { margin-bottom: 0; }
    dt { font-weight: 700; }
    dd { margin-bottom: .5rem; margin-left: 0; }
    a { color: #0d6efd; text-decoration: underline; }
    code { font-size: .875em; color: #d63384; }
    kbd { padding: .1875rem .375rem; font-size: .875em; color: #fff; background-color: #212529; }
    img, svg { vertical-align: middle; }
    table { caption-side: bottom; border-collapse: collapse; }
    label { display: inline-block; }
    button { border-radius: 0; text-transform: none; }
    input, button, select, optgroup, textarea {
      margin: 0;
      font-family: inherit;
      font-size: inherit;
      line-height: inherit;
    }
    textarea { resize: vertical; }
    summary { display: list-item; }
  `,
} as const
