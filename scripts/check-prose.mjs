// Checks that no code takes the text of an error, an advice, a trace or a process apart in order to decide something: errors have a
// code and structured details. Where a peer or a library sends only text, one file interprets it; those files are listed below.
//
//   node scripts/check-prose.mjs           every package
//   node scripts/check-prose.mjs <folder>  the packages of another working copy
//
// It finds a comparison, search or split of a value whose name says that it is prose, or of a constant with such a value, by
// expressions, not by types: it does not follow prose into a parameter of another name.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = process.argv[2] ?? fileURLToPath(new URL("../", import.meta.url));

const checked =
  /^packages\/(tool-server|gateway|cli|channelz|instrument)\/src\/(?!gen\/).*(?<!\.test|\.test\.helper|\.d)\.tsx?$/;

/** The files that interpret text, and why. docs/architecture.md explains them. */
export const exceptions = {
  "packages/channelz/src/client/foreign-response.ts": "connect-es has no field for the HTTP status",
  "packages/channelz/src/text/trace-text.ts": "the schema has only the description of a trace event",
  "packages/cli/src/telemetry/start-exporting.ts": "OTLP exporters have no code for two of their failures",
  "packages/instrument/src/grpc-js/observed.ts": "grpc-js passes only a sentence and a severity",
  "packages/tool-server/src/causes/peer-text.ts":
    "tool servers, authorization servers and child processes send sentences",
  "packages/tool-server/src/causes/provider-codes.ts": "authorization servers put their own codes into sentences",
  "packages/tool-server/src/config/toml-with-positions.ts":
    "the message of smol-toml quotes the file, except in its first line",
  "packages/tool-server/src/http/http-failure.ts": "undici has one code for all errors of a socket",
  "packages/tool-server/src/process/process-outcome.ts": "chooses the lines of standard error to show",
};

/** The names of values that are prose, and calls that return it. */
const names =
  "error|message|rawMessage|problem|advice|said|stated|reason|stderr|description|error_description|messageOf\\([^()]*\\)|describeProblem\\([^()]*\\)|statedReason\\([^()]*\\)|textOfPage\\([^()]*\\)";
const search = "match|matchAll|search|includes|startsWith|endsWith|indexOf|lastIndexOf|split|replace|replaceAll";
/** What still has the text. */
const copied = "(?:\\s*\\??\\.(?:trim|trimEnd|toLowerCase|toUpperCase|slice)\\([^()]*\\))?";
const fallback = '(?: ?(?:\\?\\?|\\|\\|) ?"")?';

/** Layout: fitting a sentence into another (its final period, its white space), and lines. */
const layout = /\.replace\((?:\/\\\.\$\/|\/\\s\+\/g), "[^"]*"\)|\.split\("\\n"(?:, 1)?\)/g;

function patternsFor(all) {
  const prose = `(?<![\\w"'-])(?:${all})${fallback}[)!]*`;
  return [
    // error.message.includes("…")
    new RegExp(`${prose}${copied}\\s*\\??\\.(?:${search})\\(`, "g"),
    // pattern.test(error.message)
    new RegExp(`\\.(?:test|exec)\\((?:[^;()]|\\([^;()]*\\))*?${prose}${copied}[^\\w.,;()]*\\)`, "g"),
    // error.message === "Request timed out"; one word may be a code.
    new RegExp(`${prose}${copied} [!=]== "[^"\\n]* [^"\\n]*"`, "g"),
  ];
}

const assigned = new RegExp(
  `\\bconst (\\w+)(?:: string)? = (?:[^;{}]*[^\\w"'-])?(?:${names})${fallback}${copied}(?: :[^;{}]*)?;`,
  "g",
);

/** What is wrong in the code of a file: lines, counted from 1, with the expression. */
export function findProse(path, code) {
  // Comments are blanked, so that positions stay; a chain of calls is one expression, whatever its lines.
  const plain = code
    .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, (comment) => comment.replace(/[^\n]/g, " "))
    .replace(layout, (text) => " ".repeat(text.length));
  const variables = [...plain.matchAll(assigned)].map(([, name]) => name);
  const found = patternsFor([names, ...variables].join("|")).flatMap((pattern) => [...plain.matchAll(pattern)]);
  return found
    .map(({ 0: text, index }) => ({
      path,
      line: plain.slice(0, index).split("\n").length,
      found: text.replace(/\s+/g, " ").slice(0, 100),
    }))
    .sort((a, b) => a.line - b.line);
}

function main() {
  const list = (...options) =>
    execFileSync("git", ["ls-files", ...options], { cwd: root, encoding: "utf8" }).split("\n");
  const paths = [...new Set([...list(), ...list("--others", "--exclude-standard")])]
    .filter((path) => checked.test(path) && existsSync(join(root, path)))
    .sort();
  const findings = paths.flatMap((path) =>
    Object.hasOwn(exceptions, path) ? [] : findProse(path, readFileSync(join(root, path), "utf8")),
  );
  for (const { path, line, found } of findings) console.error(`${path}:${line}: ${found}`);
  if (findings.length > 0) {
    console.error(
      `\n${findings.length} finding(s). Test a code or a field instead of text. If a peer has none, interpret its text in one of the files that\n` +
        "scripts/check-prose.mjs lists.",
    );
    process.exitCode = 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
