import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Entry } from "../config/entry.js";
import { diffApproval, renderDiff } from "./render-approval.js";
import { createFolder, entryOf, entryOfText, subjectOf, type TestFolder } from "./trust.test.helper.js";

async function plugin(): Promise<TestFolder> {
  const folder = await createFolder();
  await folder.write(".mcp.json", "{}");
  return folder;
}

async function changes(before: unknown, after: unknown): Promise<string[]> {
  const { path } = await plugin();
  const [a, b] = [await subjectOf(entryOf(before), path), await subjectOf(entryOf(after), path)];
  return renderDiff(diffApproval(a, b));
}

test("[TS-D-TRUST-6] an unchanged entry has no differences, even with its keys in another order", async () => {
  expect(await changes({ command: "a", args: ["b"] }, { args: ["b"], command: "a" })).toEqual([]);
});

test("[TS-D-TRUST-6] each changed, added or removed value is shown with its old and new value", async () => {
  expect(
    await changes(
      { command: "npx", args: ["-y", "server"], env: { TOKEN: "${TOKEN}" } },
      { command: "sh", args: ["-y", "server", "--more"], env: { PATH: "/tmp" }, x: [] },
    ),
  ).toEqual([
    "command",
    '  - "npx"',
    '  + "sh"',
    "env.TOKEN",
    '  - "${TOKEN}"',
    "args[2]",
    '  + "--more"',
    "env.PATH",
    '  + "/tmp"',
    "x",
    '  + "[]"',
  ]);
  expect(
    await changes(
      { type: "http", url: "https://a.example", headers: { "X-A": "${A}" } },
      { type: "sse", url: "https://b.example", headers: { "X-A": "${AWS_SECRET}" } },
    ),
  ).toEqual([
    "type",
    '  - "http"',
    '  + "sse"',
    "url",
    '  - "https://a.example"',
    '  + "https://b.example"',
    "headers.X-A",
    '  - "${A}"',
    '  + "${AWS_SECRET}"',
  ]);
});

test("[TS-D-TRUST-6] a changed, added or removed helper or file is reported", async () => {
  const { path, write } = await plugin();
  const entry = entryOf({ type: "http", url: "https://a.example", headersHelper: "x.sh" });
  await write("x.sh", "1");
  const approved = await subjectOf(entry, path);
  await write("x.sh", "2");
  const changed = diffApproval(approved, await subjectOf(entry, path));
  expect(changed).toMatchObject([{ kind: "file", field: "headersHelper", path: "x.sh" }]);
  expect(renderDiff(changed)).toEqual([
    'headersHelper: the file "x.sh" has changed',
    expect.stringMatching(/^ {2}- sha256 6b86b273ff34fce1$/),
    expect.stringMatching(/^ {2}\+ sha256 d4735e3a265e16ee$/),
  ]);
  await rm(join(path, "x.sh"));
  expect(renderDiff(diffApproval(approved, await subjectOf(entry, path)))).toEqual([
    'headersHelper: the file "x.sh"',
    "  - sha256 6b86b273ff34fce1",
    "  + does not exist",
  ]);
});

test("[TS-D-TRUST-6] a change of a hidden value is reported", async () => {
  const [before, after] = ["hunter2hunter2", "hunter3hunter3"];
  const lines = await changes({ command: "x", env: { API_KEY: before } }, { command: "x", env: { API_KEY: after } });
  expect(lines).toEqual(["! a value that is not shown has changed"]);
  const { path, write } = await plugin();
  const entry = (key: string): Entry => entryOf({ command: "./x.sh", env: { API_KEY: key } });
  const approved = await subjectOf(entry(before), path);
  await write("x.sh", "1");
  const changed = renderDiff(diffApproval(approved, await subjectOf(entry(after), path)));
  expect(changed.slice(0, 2)).toEqual([...lines, 'command: the file "x.sh"']);
});

test("[TS-D-TRUST-6] another plugin root is a change", async () => {
  const [here, there] = [await plugin(), await plugin()];
  const entry = entryOf({ command: "x" });
  const moved = { ...(await subjectOf(entry, here.path)), pluginRoot: there.path };
  expect(renderDiff(diffApproval(await subjectOf(entry, here.path), moved))).toEqual([
    "plugin root",
    `  - "${here.path}"`,
    `  + "${there.path}"`,
  ]);
});

test("[TS-D-TRUST-3] a file that cannot be checked is not covered by an approval, even if nothing seems to have changed", async () => {
  const { path } = await plugin();
  const subject = await subjectOf(entryOf({ command: "${PWD}/x.sh" }), path);
  expect(renderDiff(diffApproval(subject, subject))).toEqual([
    "! command: depends on a variable, so approval is required each time",
  ]);
});

test("[TS-D-TRUST-6] hostile names and strings are printed as plain lines, and __proto__ as a name", async () => {
  const { path } = await plugin();
  const hostile = "\u001b[2J\n  + fine\u202e";
  const before = await subjectOf(entryOfText('{"s": {"command": "x", "env": {"__proto__": "1"}}}'), path);
  const text = `{"s": {"command": "x", "env": {"__proto__": "2", ${JSON.stringify(hostile)}: ${JSON.stringify(hostile)}}}}`;
  const lines = renderDiff(diffApproval(before, await subjectOf(entryOfText(text), path)));
  expect(lines.slice(0, 3)).toEqual(["env.__proto__", '  - "1"', '  + "2"']);
  expect(lines).toHaveLength(5);
  for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]*$/);
});
