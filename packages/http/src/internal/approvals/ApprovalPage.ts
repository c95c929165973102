/**
 * The page on which a person decides with a link: its markup and its styles.
 *
 * Guarantees: it holds nothing of any approval; what it shows, its script sets as text. It works on
 * a phone, in light and in dark, with a keyboard, and loads nothing from other servers. Leaves out:
 * asking and deciding, which the script does.
 */

/** The page. Its addresses are relative, so it works at any base path. */
export const approvalPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Approval</title>
<link rel="stylesheet" href="page.css">
<script src="page.js" defer></script>
</head>
<body>
<main>
<p id="message" role="status">Reading what is asked…</p>
<noscript><p>This page needs JavaScript, so that nothing but you decides.</p></noscript>
<form id="question" hidden>
<h1 id="title"></h1>
<p id="description"></p>
<div id="fields"></div>
<label>Comment<textarea id="comment" rows="3" maxlength="2000"></textarea></label>
<p class="buttons">
<button type="submit" value="approved" class="first">Approve</button>
<button type="submit" value="rejected" formnovalidate>Reject</button>
</p>
<p class="small" id="who"></p>
</form>
<form id="delegation" hidden>
<details>
<summary>Somebody else should decide</summary>
<label>Their address of e-mail<input id="to" type="email" required maxlength="200"></label>
<p class="small">They get a link of their own. Yours ends.</p>
<p class="buttons"><button type="submit">Pass on</button></p>
</details>
</form>
</main>
</body>
</html>
`

/** Its styles. */
export const approvalStyles = `:root { color-scheme: light dark;
  --text: #1b1f24; --soft: #57606a; --line: #8c959f;
  --back: #ffffff; --first: #0b6b3a; --on: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9da7b1; --line: #6e7681;
    --back: #0d1117; --first: #3fb950; --on: #04130a; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 36rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 0.75rem; }
#description, #message { white-space: pre-wrap; }
label { display: block; margin: 1rem 0; font-weight: 600; }
label.check { font-weight: 400; }
input:not([type=checkbox]), select, textarea { display: block; width: 100%; margin-top: 0.25rem;
  padding: 0.6rem; font: inherit; color: inherit; background: var(--back);
  border: 1px solid var(--line); border-radius: 6px; }
input[type=checkbox] { width: 1.25rem; height: 1.25rem; margin: 0 0.5rem 0 0;
  vertical-align: -0.2rem; }
.buttons { display: flex; flex-wrap: wrap; gap: 0.75rem; }
button { flex: 1 1 8rem; min-height: 2.9rem; padding: 0.5rem 1rem; font: inherit;
  font-weight: 600;
  color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 6px;
  cursor: pointer; }
button.first { color: var(--on); background: var(--first); border-color: var(--first); }
button:disabled { opacity: 0.6; cursor: default; }
:focus-visible { outline: 3px solid var(--first); outline-offset: 2px; }
summary { cursor: pointer; padding: 0.5rem 0; }
.small { font-size: 0.9rem; color: var(--soft); }
`
