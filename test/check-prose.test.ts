import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const root = fileURLToPath(new URL("../", import.meta.url));
interface Finding {
  readonly path: string;
  readonly line: number;
  readonly found: string;
}
const { findProse, exceptions } = (await import(join(root, "scripts/check-prose.mjs"))) as {
  findProse(path: string, code: string): Finding[];
  exceptions: Readonly<Record<string, string>>;
};

async function check(...args: string[]): Promise<{ code: number; output: string }> {
  return promisify(execFile)(process.execPath, [join(root, "scripts/check-prose.mjs"), ...args], { cwd: root }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, output: stdout + stderr }),
  );
}

test("no code decides by the text of an error, except in the files that interpret text of peers", async () => {
  expect(await check()).toEqual({ code: 0, output: "" });
});

test("fails on a search in the message of an error, wherever it is planted", async () => {
  const copy = await mkdtemp(join(tmpdir(), "check-prose-"));
  onTestFinished(() => rm(copy, { recursive: true }));
  await promisify(execFile)("git", ["init", "--quiet", copy]);
  const planted = "packages/gateway/src/dispatch/planted.ts";
  await mkdir(dirname(join(copy, planted)), { recursive: true });
  await writeFile(join(copy, planted), "export const isGone = (error: Error) =>\n  /gone/.test(error.message);\n");
  const { code, output } = await check(copy);
  expect(code).toBe(1);
  expect(output).toContain(`${planted}:2: `);
});

test.each([
  "if (error.message.includes('gone')) return;",
  "if (error.message?.startsWith(target)) return;",
  'if ((error?.message ?? "").toLowerCase().includes("gone")) return;',
  "if (messageOf(error).match(/gone/)) return;",
  "const at = failure.problem.indexOf(':');",
  'const [first] = advice.split(". ");',
  "const isOwn = hint.test(details.said);",
  "const isKept = lines.some((line) => /x/.exec(event.description) !== null);",
  'const isSlow = error?.message === "Request timed out";',
  "const text = error instanceof Error ? error.message : String(error);\nif (text.includes(code)) return;",
  "const { message } = error;\nconst rest = message\n  .trim()\n  .replace(/^Invalid: /, '');",
])("finds a decision by text in %j", (code) => {
  expect(findProse("a.ts", code)).toHaveLength(1);
});

test.each([
  "// error.message.includes('gone')",
  "/** Like `error.message.split`. */",
  'if (error.code === "GONE") return;',
  'if (found.reason === "not-found") return;',
  'const why = error.message.replace(/\\.$/, "") + ".";',
  'const line = messageOf(error).replace(/\\s+/g, " ");',
  'for (const line of description.split("\\n")) print(line);',
  "if (codes.includes(error.code)) return;",
  "const events = object.message.data.trace.events.filter(isRecent);",
])("finds no decision by text in %j", (code) => {
  expect(findProse("a.ts", code)).toEqual([]);
});

test("the documentation names each file that interprets text", () => {
  const page = readFileSync(join(root, "docs/architecture.md"), "utf8");
  for (const path of Object.keys(exceptions)) {
    expect(existsSync(join(root, path)), path).toBe(true);
    expect(page).toContain(`\`${path.replace("packages/", "")}\``);
  }
});
