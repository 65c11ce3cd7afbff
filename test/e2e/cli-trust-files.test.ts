import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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

function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}, file = user.file): Promise<Run> {
  const own = { PATH: process.env.PATH, HOME: user.home, ...env };
  const [verb = "", ...rest] = argv;
  return runCommand([verb, "--config", file, ...rest], { env: own });
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

test("[TS-D-TRUST-6] every command agrees on what has changed since the approval", async () => {
  const configuration = write(".cursor/mcp.json", "{}");
  const inFile = (...argv: string[]): Promise<Run> => run(argv, {}, configuration);
  const reasonsOf = async (): Promise<unknown> => {
    const trust = JSON.parse((await inFile("trust", "--json")).stdout);
    const why = JSON.parse((await inFile("why", "own", "--json")).stdout);
    const { live } = JSON.parse((await inFile("check", "--live", "--json")).stdout);
    const tools = await inFile("tools", "own");
    return [trust.own.state, why.causes[0]?.code, live[0].causes[0]?.code, /changed since/.test(tools.stderr)];
  };
  const file = write("server.js", "process.exit(0);");
  const added = await inFile("add", "own", "--", "node", "server.js");
  expect(added.stdout).toContain("It is approved, because you typed it.\n");
  expect((await inFile("trust")).stdout).toMatch(/own +stdio +trusted +approved\n/);
  writeFileSync(file, "process.exit(1);");
  expect(await reasonsOf()).toEqual(["changed", "changed-since-approval", "changed-since-approval", true]);
});

test("[TS-D-TRUST-3] add does not report an approval that does not last", async () => {
  const added = await run(["add", "own", "--", "${PWD}/server.sh"]);
  expect(added.stdout).toMatch(/has changed since approval/);
});

test("[TS-D-WHY-3] why says that a helper is missing that was deleted after the approval", async () => {
  const file = write("headers.sh", "#!/bin/sh\necho '{}'\n");
  chmodSync(file, 0o755);
  user.configure({ api: { type: "http", url: "https://api.example.com/mcp", headersHelper: "headers.sh" } });
  expect((await run(["trust", "api", "--yes"])).code).toBe(0);
  rmSync(file);
  const { causes } = JSON.parse((await run(["why", "api", "--json"])).stdout);
  expect(causes[0]).toMatchObject({ code: "helper-missing", problem: "The helper headers.sh does not exist." });
  expect(causes[0].evidence[0]).toMatch(/changed since approval/);
  const [live] = JSON.parse((await run(["check", "--live", "--json"])).stdout).live;
  expect(live.causes[0].code).toBe("helper-missing");
});

test("[TS-D-TRUST-2] trust, add and check name code that an approval does not cover", async () => {
  const line = "This approval does not cover the code that make runs.";
  user.configure({ own: { command: "make", args: ["serve"] } });
  expect((await run(["trust", "own"])).stdout).toContain(`  ! ${line}\n`);
  expect((await run(["check"])).stdout).toContain(line);
  const { findings } = JSON.parse((await run(["check", "--json"])).stdout);
  expect(findings).toContainEqual(
    expect.objectContaining({ code: "code-not-covered", severity: "note", message: line }),
  );
  expect((await run(["trust", "own", "--yes"])).code).toBe(0);
  const { own } = JSON.parse((await run(["trust", "--json"])).stdout);
  expect(own).toMatchObject({ state: "trusted", reason: "approved; not the code that make runs" });
});
