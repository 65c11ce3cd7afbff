import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

async function examplesOf(path: string): Promise<string[]> {
  const text = await readFile(new URL(`../../${path}`, import.meta.url), "utf8");
  return [...text.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code ?? "");
}

/** Runs code as a module of this checkout, on the built packages, as a reader would; 4691 may be taken, so on another port. */
async function runExamples(...examples: string[]): Promise<string> {
  const code = [...examples, "await listener.close();"].join("\n").replaceAll("4691", String(await freePort()));
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", code], { cwd: root });
  return stdout;
}

test("runs both examples of the README together: one serves, the other reads", async () => {
  expect(await runExamples(...(await examplesOf("README.md")))).toBe("orders: 1 calls, 1 failed\n");
});

test("runs the example of the package's README", async () => {
  expect(await runExamples(...(await examplesOf("packages/channelz/README.md")))).toBe("");
});
