// Checks names, comments, messages, tests and documentation for words that are not the usual ones of this field, and that the
// title of each test is a complete sentence.
//
//   node scripts/check-language.mjs               every file under version control
//   node scripts/check-language.mjs --count       only the number of findings for each folder
//   node scripts/check-language.mjs packages/cli  only these files and folders
//
// CONTRIBUTING.md explains the list. Add a word when a review finds one that engineers of this field do not use; add an
// exception only if the word is right there.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** What must not be written, and what to write instead. Names are split into their words first: `atHand` is "at hand". */
const replacements = [
  [/\bmend(s|ed|ing)?\b/, "fix"],
  [/\b(tell|tells|telling|told)\b/, "report, log, emit or say"],
  [/\banswer(s|ed|ing)?\b/, "response, result; respond, return"],
  [/\banew\b/, "again"],
  [/\b(whoever|whomever)\b/, "the caller, the client, a user who"],
  [/\bwho (asks|calls|reads|watches|listens|writes|waits|begins)\b/, "the caller, the reader, a user who"],
  [/\bcall(s|ed|ing)? off\b/, "cancel, abort"],
  [/\bbesides\b/, "in addition to"],
  [/\bat the (most|least)\b/, "at most, at least"],
  [/\bat hand\b/, "cached, available"],
  [/\b(story|stories)\b/, "event, record, context"],
  [/\brelay(s|ed|ing)?\b/, "forward, proxy"],
  [/\ba text\b/, "a string"],
  [/\bwish(es|ed)?\b/, "subscription, option, request"],
  [/\bwant no more\b/, "unsubscribe"],
  [/\b(leads|lead|led) to\b/, "connects to, proxies to, causes"],
  [/\b(stands|stood) (in|at|for|on|there|beside|open|between)\b/, "is, is located in"],
  [/\b(rests|lies) (in|at|on|there|beside)\b/, "is, is stored in"],
  [/\bperform(s|ed|ing)?\b/, "dispatch, handle, run"],
  [/\bits time is over\b/, "expired"],
  [/\bas many as there may be\b/, "limit reached"],
  [/(?<!if )\bthere (is|are|was|were) none\b/, "does not exist, is missing"],
  [/\bgo(es|ing)? on\b/, "continue"],
  [/\bwent on\b/, "continued"],
  [/\bin the midst\b/, "during, in the middle of"],
  [/\bhinder(s|ed)?\b/, "prevent"],
  [/\bof its own accord\b/, "by itself"],
  [/\b(is|are|was|were) got\b/, "is read, is fetched"],
  [/\bbecame of\b/, "happened to"],
  [/\bmost of all\b/, "mainly"],
  [/\bin the manner of\b/, "like, as in"],
  [/\bheed(s|ed)?\b/, "applies, is used"],
  [/\bjudged?\b.*\bguilty\b/, "rejected"],
  [/, for (it|they|there|nothing|nobody|that|what|who)\b/, "because"],
  [/\bwhere (there|nothing|nobody|none|not) (is|are|was|has|have|can|does|may|known|given|set)\b/, "if, when"],
  [/\bwants to know\b/, "requires"],
  [/\bof this machine's own\b/, "of this machine"],
  [/\burl\.can parse\(/, "parseUrl of url.ts: on Node 20, URL.canParse rejects strings that are not ASCII"],
];

/** Matches a line with at least one of them: most lines contain none. */
const anyReplaced = new RegExp(replacements.map(([pattern]) => pattern.source).join("|"));

/** Files or lines in which a word is right, and why. */
const exceptions = [
  // Text by others: licenses, generated code, lock files, recorded pages.
  { path: /(^|\/)(LICENSE|package-lock\.json)$|\/gen\/|\/testdata\/|\/fixtures\// },
  // The list itself, its test, and the glossary.
  { path: /^scripts\/check-language\.mjs$|^test\/check-language\.test\.ts$|^CONTRIBUTING\.md$/ },
  // Names by others: a function of Node, a schema of gRPC.
  { line: /performServerHandshake/ },
  { path: /^proto\/grpc\// },
  // Names that a release replaced.
  { path: /^CHANGELOG\.md$/ },
];

/** A title that begins like this continues its `describe`, and is unclear in a list of failures. */
const fragment =
  /^(is|are|was|were|has|have|had|must|may|might|should|that|of|because|over|after|for|with|which|who|whose|where|without|from|by|in|on|at|to|and|or|but|so|if|when|while|also|even|only|not|no longer|until|before|than|as)\b/i;

/** Files with the text of other tests in them. */
const containsTests = /^test\/(requirements|check-language)\.test\.ts$/;

/** Requirement ids, numbers of reported failures and interpolated names in front of a title. */
const titlePrefix = /^(\s*(\[[^\]]*\]|\([0-9, ]+\)|\$\{[^}]*\}:?))*\s*/;

const root = fileURLToPath(new URL("..", import.meta.url));

/** The findings in one file's text: line, word found, what to write. */
export function checkText(path, text) {
  if (exceptions.some((each) => each.path?.test(path))) return [];
  const originals = text.split("\n");
  return splitNames(text)
    .split("\n")
    .flatMap((line, index) => {
      if (!anyReplaced.test(line) || exceptions.some((each) => each.line?.test(originals[index]))) return [];
      return replacements.flatMap(([pattern, write]) => {
        const found = pattern.exec(line);
        return found === null ? [] : { path, line: index + 1, found: found[0], write };
      });
    });
}

/** The titles of tests that are not a complete sentence: line, start of the title, what to write. */
export function checkTitles(path, text) {
  if (containsTests.test(path)) return [];
  return titlesOf(text).flatMap(({ line, title }) => {
    const sentence = title.replace(titlePrefix, "");
    if (!fragment.test(sentence) && sentence.split(/\s+/).length >= 4) return [];
    return { path, line, found: title.slice(0, 60), write: 'a complete sentence, such as "reports an expired token"' };
  });
}

/** The titles of `it` and `test`, also of `test.each(...)("title", ...)`. */
function titlesOf(text) {
  const titles = [];
  for (const { index, 0: name } of text.matchAll(/(?<![\w.$"'`/-])(?:it|test)(?=[.(<`])/g)) {
    let at = index + name.length;
    while (at !== undefined) {
      const step = /^(\.\w+|<(=>|[^>]|>(?=[\],>]))*>(?=\()|\(\s*|`)?/.exec(text.slice(at))[0];
      const next = at + step.length;
      const end = step.startsWith("(") && /["'`]/.test(text[next] ?? "") ? endOfString(text, next) : undefined;
      // A string that is not the only argument: `skipIf("reason" in sandbox)` has none.
      if (end !== undefined && text[end] === ",") {
        titles.push({ line: text.slice(0, index).split("\n").length, title: text.slice(next + 1, end - 1) });
        break;
      }
      if (step.startsWith("(")) at = endOfParentheses(text, at);
      else if (step === "`") at = endOfString(text, at);
      else at = step === "" ? undefined : next;
    }
  }
  return titles;
}

/** The index after the closing parenthesis. */
function endOfParentheses(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const rest = text.slice(at, at + 2);
    if (/^["'`]/.test(rest)) at = endOfString(text, at) - 1;
    else if (rest === "//") at = text.indexOf("\n", at);
    else if (rest[0] === "/" && /[(,=:[!&|?{;]\s*$/.test(text.slice(Math.max(0, at - 20), at))) {
      at += (/^\/(\\.|\[(\\.|[^\]])*\]|[^/\n])+\//.exec(text.slice(at))?.[0].length ?? 1) - 1;
    } else if (/^[([{]/.test(rest)) depth += 1;
    else if (/^[)\]}]/.test(rest) && --depth === 0) return at + 1;
  }
  return undefined;
}

/** The index after the closing quote. */
function endOfString(text, start) {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === text[start]) return at + 1;
    else if (text[start] === "`" && text.startsWith("${", at)) at = endOfParentheses(text, at + 1) - 1;
  }
  return text.length;
}

/** `tellAll`, `tell-all` and `TELL_ALL` become "tell all", so that names are read like sentences. */
function splitNames(line) {
  return line
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Za-z])[-_]([A-Za-z])/g, "$1 $2")
    .toLowerCase();
}

/** Whether the check reads a file. */
export function isChecked(path) {
  return /\.(ts|tsx|mjs|js|json|jsonc|md|yml|yaml|proto|service|sh)$/.test(path);
}

function main() {
  const { values, positionals } = parseArgs({ options: { count: { type: "boolean" } }, allowPositionals: true });
  const listed = execFileSync("git", ["ls-files", "--", ...positionals], { cwd: root, encoding: "utf8" }).split("\n");
  const files = listed.filter((path) => isChecked(path) && existsSync(join(root, path)));
  const findings = files.flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return [...checkText(path, text), ...(/\.test\.(helper\.)?ts$/.test(path) ? checkTitles(path, text) : [])];
  });
  if (values.count) {
    const counts = new Map();
    for (const { path } of findings) {
      const folder = path
        .split("/")
        .slice(0, path.startsWith("packages/") ? 4 : 2)
        .join("/");
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
    for (const [folder, count] of [...counts].sort((a, b) => b[1] - a[1])) console.log(`${count}\t${folder}`);
  } else {
    for (const { path, line, found, write } of findings) console.error(`${path}:${line}: "${found}": write ${write}.`);
  }
  if (findings.length > 0) {
    console.error(`\n${findings.length} finding(s). The glossary is in CONTRIBUTING.md.`);
    process.exitCode = 1;
  }
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) main();
