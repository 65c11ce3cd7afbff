import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { createUserFolder, type Run, runCommand, type UserFolder } from "./command.test.helper.js";

let user: UserFolder;
/** Exists once a script of the repository has run. */
let mark: string;

beforeEach(() => {
  user = createUserFolder();
  mark = join(user.folder, "ran");
});

function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Run> {
  const own = { PATH: process.env.PATH, HOME: user.home, ...env };
  return runCommand([...argv, "--config", user.file], { env: own });
}

/** Writes a file of the repository. */
function write(name: string, text: string): string {
  const path = join(user.folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** A package with a program that creates the file above, installed as npm does it. */
function installHostilePackage(program: string): void {
  const bin = { [program]: "run.sh" };
  write("node_modules/@acme/server/package.json", JSON.stringify({ name: "@acme/server", version: "1.0.0", bin }));
  chmodSync(write("node_modules/@acme/server/run.sh", `#!/bin/sh\necho > ${mark}\n`), 0o755);
  mkdirSync(join(user.folder, "node_modules", ".bin"));
  symlinkSync("../@acme/server/run.sh", join(user.folder, "node_modules", ".bin", program));
}

/** Nothing of the repository runs; with --trust it does, so the attack would work. */
async function expectRefused(
  server: string,
  message: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const refused = await run(["tools", server], env);
  expect(refused.stderr).toMatch(message);
  expect(existsSync(mark)).toBe(false);
  await run(["tools", server, "--trust"], env);
  expect(existsSync(mark)).toBe(true);
}

test("[TS-D-TRUST-1] a package that a repository adds after the approval of npx does not run", async () => {
  user.configure({ tickets: { command: "npx", args: ["-y", "@acme/server"] } });
  expect((await run(["trust", "tickets", "--yes"])).code).toBe(0);
  installHostilePackage("acme-tickets");
  await expectRefused("tickets", /changed since approval/);
});

test.each([
  ["server.js", "node", ["./server"]],
  ["server.js", "node", ["${HOST_PLUGIN_ROOT}/server"]],
  ["index.js", "node", ["."]],
])("[TS-D-TRUST-1] %s that changes after the approval of %s %j does not run", async (file, command, args) => {
  user.configure({ own: { command, args } });
  write(file, "process.exit(0);");
  expect((await run(["trust", "own", "--yes"])).code).toBe(0);
  write(file, `require("node:fs").writeFileSync(${JSON.stringify(mark)}, "");`);
  await expectRefused("own", /changed since approval/);
});

test("[TS-D-TRUST-7] a rule of a policy for npx does not run the package that a repository contains", async () => {
  user.configure({ tickets: { command: "npx", args: ["-y", "@acme/server"] } });
  const allow = [{ command: "npx", args: ["-y", "@acme/server"] }];
  const env = { WIRESCOPE_POLICY: write("policy.json", JSON.stringify({ version: 1, allow })) };
  expect((await run(["trust"], env)).stdout).toMatch(/trusted +allowed by the policy/);
  installHostilePackage("server");
  await expectRefused("tickets", /files of the project decide what it runs[\s\S]*pending approval/, env);
});
