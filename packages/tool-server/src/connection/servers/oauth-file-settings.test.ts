import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../failure-of.test.helper.js";
import { readOAuthFile } from "./oauth-file.js";

const url = "https://ledger.example.com/mcp";

/** A folder for a token file, and a function that reads it as the settings name it. */
function createTokenFile(): { readonly path: string; readonly read: () => Promise<string> } {
  const folder = mkdtempSync(join(tmpdir(), "wirescope-oauth-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "oauth.json");
  writeFileSync(file, JSON.stringify({ ledger: { url, grant: "workload", assertionFile: "token" } }));
  return {
    path: join(folder, "token"),
    async read() {
      const { grant } = readOAuthFile({ WIRESCOPE_OAUTH_FILE: file })("ledger", url);
      return grant?.kind === "workload" ? grant.assertion() : "";
    },
  };
}

test("reads a token for each use, also through a link, without white space around it", async () => {
  const { path, read } = createTokenFile();
  writeFileSync(`${path}-1`, "\ufeffthe.first.token\r\n");
  symlinkSync(`${path}-1`, path);
  expect(await read()).toBe("the.first.token");
  writeFileSync(`${path}-1`, "the.second.token");
  expect(await read()).toBe("the.second.token");
});

test.each<[make: (path: string) => unknown, problem: string]>([
  [() => undefined, "cannot read the file token: it does not exist (ENOENT)."],
  [(path) => mkdirSync(path), "cannot read the file token: it is not a regular file."],
  [(path) => execFileSync("sh", ["-c", 'mkfifo "$0"', path]), "cannot read the file token: it is not a regular file."],
  [(path) => symlinkSync("/dev/zero", path), "cannot read the file token: it is not a regular file."],
  [(path) => writeFileSync(path, "a".repeat(65_537)), "cannot read the file token: it is larger than 65536 bytes."],
  [(path) => writeFileSync(path, "\n"), "the file token is empty."],
  [(path) => writeFileSync(path, "user: ada\npassword: x"), "the file token does not contain a token."],
])("sends no file that is not a token, and waits for none: %s", async (make, problem) => {
  const { path, read } = createTokenFile();
  make(path);
  expect(await failureOf(read())).toMatchObject({
    code: "CONFIGURATION_UNREADABLE",
    message: expect.stringContaining(`ledger: ${problem}`),
  });
});
