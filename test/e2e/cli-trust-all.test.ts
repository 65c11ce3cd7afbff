import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { createUserFolder, type Run, type RunSetting, runCommand, type UserFolder } from "./command.test.helper.js";

let user: UserFolder;

beforeEach(() => {
  user = createUserFolder();
  user.configure({
    one: { type: "http", url: "https://one.example/mcp" },
    two: { command: "two-server", args: ["--verbose"] },
  });
});

function run(argv: readonly string[], setting: RunSetting = {}): Promise<Run> {
  const env = { PATH: process.env.PATH, HOME: user.home, ...setting.env };
  return runCommand([...argv, "--config", user.file], { ...setting, env });
}

test("[TS-D-CLI-5] trust --all shows every entry in full, asks once, and approves all", async () => {
  const questions: string[] = [];
  const person = async (question: string): Promise<string> => {
    questions.push(question);
    return "y";
  };
  const { code, stdout } = await run(["trust", "--all"], { person });
  expect(code).toBe(0);
  expect(questions).toEqual([expect.stringMatching(/^Approve these 2 servers\?/)]);
  expect(stdout).toContain("https://one.example/mcp");
  expect(stdout).toMatch(/two-server[\s\S]*--verbose/);
  expect(stdout).toMatch(/Approved: one, two\.\n$/);
  expect((await run(["trust"])).code).toBe(0);
  // Nothing is left to ask about.
  const again = await run(["trust", "--all"], { person });
  expect(again).toMatchObject({ code: 0, stdout: "No server is waiting for an approval.\n" });
  expect(questions).toHaveLength(1);
});

test("[TS-D-CLI-5] trust --all approves nothing without a yes, and says how to approve without a prompt", async () => {
  const no = await run(["trust", "--all"], { person: async () => "no" });
  expect(no).toMatchObject({ code: 1, stdout: expect.stringMatching(/Not approved: one, two\.\n$/) });
  const nobody = await run(["trust", "--all"]);
  expect(nobody.stdout).toMatch(/Not approved: one, two\. Use --yes to approve without a prompt\.\n$/);
  expect(JSON.parse((await run(["trust", "--all", "--json"])).stdout)).toEqual({
    one: { state: "new", reason: "pending approval" },
    two: { state: "new", reason: "pending approval" },
  });
});

test("[TS-D-CLI-5] trust --all --yes leaves a server unapproved that a policy denies, and fails", async () => {
  const policy = join(user.folder, "policy.json");
  writeFileSync(policy, JSON.stringify({ version: 1, deny: [{ command: "two-server" }] }));
  const { code, stdout } = await run(["trust", "--all", "--yes"], { env: { WIRESCOPE_POLICY: policy } });
  expect(code).toBe(1);
  expect(stdout).toMatch(/Approved: one\.\n$/);
  expect(stdout).toContain("denies it on line 1");
});

test("trust --all rejects the name of a server", async () => {
  expect(await run(["trust", "one", "--all"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--all cannot be used with the name of a server."),
  });
});
