/** What a test file says about requirements: ids in titles of tests that run, and ids anywhere else. */
export interface Citations {
  readonly proven: ReadonlySet<string>;
  readonly mentioned: ReadonlySet<string>;
}

const bracket = /\[((?:CZ|TS)-[A-Z0-9-]+(?:,\s*(?:CZ|TS)-[A-Z0-9-]+)*)\]/g;
// As Biome formats a test: the call begins a line, modifiers may take arguments of their own, the title comes first.
const titled =
  /^([ \t]*)(?:test|it|describe)((?:\.\w+(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?)*)\(\s*(["'`])(.*?[^\\])\3/gms;

/** Reads the citations of a test file; a citation in a skipped test, or below a skipped `describe`, proves nothing. */
export function readCitations(text: string): Citations {
  const proven = new Set<string>();
  let skippedUntil = 0;
  for (const { index, 0: call, 1: indent = "", 2: modifiers = "", 4: title = "" } of text.matchAll(titled)) {
    if (index < skippedUntil) continue;
    if (/\.(skip|todo)\b/.test(modifiers)) skippedUntil = endOfBlock(text, index + call.length, indent);
    else for (const id of idsIn(title)) proven.add(id);
  }
  return { proven, mentioned: new Set(idsIn(text)) };
}

/** The ids of a table of requirements, in order; an id that is listed twice is returned twice. */
export function readRequirementIds(markdown: string): string[] {
  return [...markdown.matchAll(/^\| ((?:CZ|TS)-[A-Z0-9-]+) \|/gm)].map(([, id]) => id ?? "");
}

function idsIn(text: string): string[] {
  return [...text.matchAll(bracket)].flatMap(([, ids]) => ids?.split(/,\s*/) ?? []);
}

function endOfBlock(text: string, from: number, indent: string): number {
  const end = text.indexOf(`\n${indent}}`, from);
  const next = new RegExp(`\\n${indent}\\S`, "g");
  next.lastIndex = from;
  return Math.min(end === -1 ? text.length : end, next.exec(text)?.index ?? text.length);
}
