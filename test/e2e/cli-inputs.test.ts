import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import {
  createUserFolder,
  type Run,
  type RunSetting,
  runCommand,
  startGateway,
  type UserFolder,
} from "./command.test.helper.js";
import { everything } from "./real-servers.test.helper.js";

const secret = "a-key-that-a-person-entered";
let user: UserFolder;
let env: Record<string, string | undefined>;

beforeEach(() => {
  user = createUserFolder();
  // The vault is a real encrypted file below the home folder.
  env = {
    PATH: process.env.PATH,
    HOME: user.home,
    WIRESCOPE_VAULT: "file",
    WIRESCOPE_VAULT_KEY: Buffer.alloc(32, 7).toString("base64"),
  };
  writeFileSync(
    user.file,
    JSON.stringify({
      inputs: [
        { id: "api-key", type: "promptString", description: "The \u001b[31mkey", password: true },
        { id: "region", type: "pickString", description: "Where", options: ["eu", "us"], default: "eu" },
      ],
      servers: {
        everything: {
          type: "stdio",
          command: process.execPath,
          args: [everything],
          env: { SERVICE_API_KEY: "${input:api-key}", REGION: "${input:region}" },
        },
      },
    }),
  );
});

function run(argv: readonly string[], setting: RunSetting = {}): Promise<Run> {
  return runCommand([...argv, "--config", user.file], { ...setting, env: { ...env, ...setting.env } });
}

/** Replies to each question by how it starts, and records the questions. */
function personWho(replies: Readonly<Record<string, string | readonly string[]>>): {
  readonly questions: string[];
  readonly person: NonNullable<RunSetting["person"]>;
} {
  const questions: string[] = [];
  return {
    questions,
    async person(question) {
      questions.push(question);
      const [, reply = ""] = Object.entries(replies).find(([start]) => question.startsWith(start)) ?? [];
      if (typeof reply === "string") return reply;
      return reply[questions.filter((each) => each === question).length - 1] ?? "";
    },
  };
}

const call = ["call", "everything", "get-env"];

test("[TS-D-DIALECT-6] inputs are asked for once, after the approval, and used from the vault afterwards", async () => {
  const { questions, person } = personWho({ Approve: "y", "api-key": secret, region: ["mars", "us"] });
  const first = await run(call, { person });
  expect(questions.map((question) => question.split(/[ :]/)[0])).toEqual(["Approve", "api-key", "region", "region"]);
  expect(first.stderr).toContain("Not one of the choices.");
  expect(first.stderr).not.toContain("\u001b");
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('"REGION": "us"') });
  expect(first.stdout).toContain("SERVICE_API_KEY");
  expect(first.stdout + first.stderr).not.toContain(secret);
  // Without a terminal, the stored values are used.
  expect(await run(call)).toMatchObject({ code: 0, stdout: expect.stringContaining('"REGION": "us"') });
  const files = readdirSync(user.home, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  expect(files.length).toBeGreaterThan(0);
  for (const { parentPath, name } of files)
    expect(readFileSync(join(parentPath, name), "latin1")).not.toContain(secret);
});

test("[TS-D-DIALECT-6] a variable takes precedence over a stored input, and must be one of the choices", async () => {
  await run(["trust", "everything", "--yes"]);
  const { questions, person } = personWho({ "api-key": secret, region: "us" });
  expect(await run(["inputs", "region"], { person })).toMatchObject({
    code: 0,
    stdout: "The value of region is stored.\n",
  });
  expect(questions).toEqual(["region [eu]: "]);
  const variables = { INPUT_API_KEY: secret, INPUT_REGION: "eu" };
  expect((await run(call, { env: variables })).stdout).toContain('"REGION": "eu"');
  const wrong = await run(call, { env: { ...variables, INPUT_REGION: "mars" } });
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("is not one of its choices") });
  expect(wrong.stderr).toContain('Use one of "eu", "us".');
});

test("[TS-D-DIALECT-6] names the command to enter a missing input if there is no terminal", async () => {
  await run(["trust", "everything", "--yes"]);
  const { code, stderr } = await run(call);
  expect(code).toBe(1);
  expect(stderr).toContain("wirescope inputs api-key");
  expect(stderr).toContain("INPUT_API_KEY");
});

test("[TS-D-DIALECT-6] asks for no inputs of a server that is not approved", async () => {
  const { questions, person } = personWho({ Approve: "n", "api-key": secret });
  expect((await run(call, { person })).code).toBe(1);
  expect(questions).toEqual([expect.stringMatching(/^Approve this server/)]);
});

test("[TS-D-DIALECT-6] check and trust use the values that were entered", async () => {
  const configuration = JSON.parse(readFileSync(user.file, "utf8"));
  configuration.servers.cloud = { type: "http", url: "https://${input:region}.example.com/mcp" };
  writeFileSync(user.file, JSON.stringify(configuration));
  const before = await run(["check"]);
  expect(before).toMatchObject({ code: 1, stdout: expect.stringContaining("wirescope inputs region") });
  const { person } = personWho({ "api-key": secret, region: "us" });
  for (const id of ["api-key", "region"]) await run(["inputs", id], { person });
  const after = await run(["check"]);
  expect(after).toMatchObject({ code: 0, stderr: "" });
  expect(after.stdout).not.toContain(secret);
  expect((await run(["trust", "cloud"])).stdout).toContain("https://us.example.com");
  expect((await run(["check", "--file-only"])).code).toBe(0);
});

test("[TS-D-DIALECT-6] inputs lists where each value comes from, and deletes one", async () => {
  const { person } = personWho({ "api-key": secret });
  expect(await run(["inputs", "api-key"], { person })).toMatchObject({ code: 0 });
  const listed = await run(["inputs", "--json"], { env: { INPUT_REGION: "us" } });
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { id: "api-key", value: "stored", servers: ["everything"] },
    { id: "region", value: "variable", servers: ["everything"] },
  ]);
  expect(listed.stdout).not.toContain(secret);
  expect(await run(["inputs", "api-key", "--forget"])).toMatchObject({ code: 0 });
  expect(await run(["inputs"])).toMatchObject({ code: 1, stdout: expect.stringMatching(/^api-key +missing/m) });
  expect(await run(["inputs", "other"])).toMatchObject({ code: 2, stderr: expect.stringContaining("Unknown input") });
  expect(await run(["inputs", "region"])).toMatchObject({ code: 2, stderr: expect.stringContaining("at a terminal") });
});

test("[TS-D-DIALECT-6] the gateway uses the values that were entered, also one that is entered before a reload", async () => {
  await run(["trust", "everything", "--yes"]);
  const { person } = personWho({ "api-key": secret, region: "us" });
  await run(["inputs", "region"], { person });
  await startGateway(["--config", user.file, "--port", "0"], { env });
  const ofGateway = (argv: readonly string[]) => runCommand(argv, { env });
  const failed = await ofGateway(["status", "--endpoint"]);
  expect(failed.stdout).toContain("input:api-key");
  await run(["inputs", "api-key"], { person });
  expect(await ofGateway(["reload"])).toMatchObject({ code: 0 });
  await expect.poll(async () => (await ofGateway(["tools", "--endpoint"])).stdout).toContain("get-env");
  const called = await ofGateway(["call", "everything", "get-env", "--endpoint"]);
  expect(called).toMatchObject({ code: 0, stdout: expect.stringContaining('"REGION": "us"') });
  expect(called.stdout).toContain(`"SERVICE_API_KEY": "${secret}"`);
});
