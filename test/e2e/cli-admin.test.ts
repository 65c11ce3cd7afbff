import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { startQuirks } from "@wirescope/quirks";
import { expect, onTestFinished, test } from "vitest";
import { browsingPerson, createLoginWorld, type LoginWorld, pastingPerson } from "./login-world.test.helper.js";
import { type RunningGateway, runGateway } from "./running-command.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 20 };

/** The gateway, until the test ends. */
function startUp({ shared, env }: Pick<LoginWorld, "shared" | "env">, ...more: string[]): Promise<RunningGateway> {
  return runGateway(["--json", "--print-token", "--log", "off", ...shared, ...more], { env });
}

/** A client of the gateway, until the test ends. */
async function connectClient({ endpoint, token }: RunningGateway): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

const originOf = ({ endpoint }: RunningGateway): string => new URL(endpoint).origin;

test("[TS-D-ADMIN-9] login and logout sign the running gateway in and out, and its clients get or lose the tools at once", async () => {
  const world = await createLoginWorld({ hasForms: true });
  const up = await startUp(world, "--trust");
  const client = await connectClient(up);
  const tools = async (): Promise<string[]> =>
    (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name).sort();
  expect(await tools()).toEqual(["notes__sign_in"]);
  const before = await world.run(["auth"]);
  expect(before.stdout).toMatch(
    new RegExp(`^Sign-ins of the gateway at ${originOf(up)}\\.\\n\\n.*\\nnotes +not signed in`, "s"),
  );

  const login = await world.run(["login", "notes"], { person: browsingPerson() });
  expect(login.stderr).toContain(`Sign in to notes with ${world.authorization.issuer}, as requested.\n`);
  expect(login).toMatchObject({
    code: 0,
    stdout: `The gateway at ${originOf(up)} is signed in to notes with ${world.authorization.issuer}.\nScopes: notes:read.\nConnected to notes: notes 3.1.0\n`,
  });
  expect(await tools()).toEqual(["notes__read", "notes__write"]);
  expect((await world.run(["auth", "notes"])).stdout).toMatch(/^sign-in +signed in$/m);
  const { gateway, servers } = JSON.parse((await world.run(["auth", "--json"])).stdout);
  expect(gateway).toBe(originOf(up));
  expect(servers.notes.oauth).toMatchObject({ isSignedIn: true, issuer: world.authorization.issuer });
  expect((await world.run(["why", "notes"])).stdout).toMatch(/^✓ notes works\./);

  const logout = await world.run(["logout", "notes"]);
  expect(logout.code).toBe(0);
  expect(logout.stdout).toMatch(/Deleted the tokens issued by .*[\s\S]*access token: revoked/);
  await expect.poll(tools, pollOptions).toEqual(["notes__sign_in"]);
  const why = await world.run(["why", "notes"]);
  expect(why.code).toBe(1);
  expect(why.stdout).toContain("wirescope login notes --endpoint\n");
});

test("[TS-SEC-6] [TS-D-WHY-6] [TS-D-WHY-7] the gateway diagnoses 401 and a static token like the command without a gateway", async () => {
  const world = await createLoginWorld({ hasForms: true });
  expect((await world.run(["login", "notes", "--trust"], { person: browsingPerson() })).code).toBe(0);
  const [token = ""] = world.tool.seen;
  const bare = createServer((_, response) => void response.writeHead(401).end());
  await new Promise<void>((resolve) => bare.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void bare.close().closeAllConnections());
  const { port } = bare.address() as AddressInfo;
  world.configure({
    bare: { type: "sse", url: `http://127.0.0.1:${port}/sse` },
    notes: { type: "http", url: world.tool.url, headers: { Authorization: "Bearer ${NOTES_TOKEN}" } },
  });
  const env = { ...world.env, NOTES_TOKEN: token };
  const nothing = /^✗ bare: The server requires a credential, but the entry has none\. \(credential-missing, found\)\n/;
  const note = (more: string): RegExp =>
    new RegExp(
      `^✓ notes works\\.\\n\\nNote: The server supports OAuth with ${world.authorization.issuer}\\..*\\n.*: Remove Authorization from the headers of the entry, then sign in\\.\\n    wirescope login notes ${more}\\n`,
    );
  expect((await world.run(["why", "bare", "--trust"], { env })).stdout).toMatch(nothing);
  const alone = await world.run(["why", "notes", "--trust"], { env });
  expect({ code: alone.code, stdout: alone.stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(note("--config .*")),
  });
  await startUp({ ...world, env }, "--trust");
  expect((await world.run(["why", "bare"])).stdout).toMatch(nothing);
  expect((await world.run(["why", "notes"])).stdout).toMatch(note("--endpoint"));
});

test("continues a sign-in whose browser cannot reach the gateway with the pasted address, and prints one object with --json", async () => {
  const world = await createLoginWorld({ hasForms: true });
  const up = await startUp(world, "--trust");
  const { code, stdout } = await world.run(["login", "notes", "--json"], { person: pastingPerson() });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    server: "notes",
    isSignedIn: true,
    serverInfo: { name: "notes", version: "3.1.0" },
    gateway: originOf(up),
  });
});

test("[TS-D-OAUTH-1] asks the person whether to accept another authorization server, locally and through the gateway", async () => {
  const quirks = await startQuirks({ quirks: ["issuer-changes"] });
  onTestFinished(() => quirks.close());
  const world = await createLoginWorld();
  world.configure({ notes: { type: "http", url: quirks.tool.url } });
  const up = await startUp(world, "--trust");
  const browse = browsingPerson();
  const reply =
    (word: string): typeof browse =>
    (question, ...rest) =>
      question.startsWith("Sign in there?") ? Promise.resolve(word) : browse(question, ...rest);
  expect((await world.run(["login", "notes"], { person: browse })).code).toBe(0);
  // After the first call it names the other authorization server.
  await (await connectClient(up)).callTool({ name: "notes__scopes", arguments: {} });
  const no = await world.run(["login", "notes"], { person: reply("") });
  expect(no.code).toBe(1);
  expect(no.stderr).toContain(
    `notes now uses another authorization server: ${quirks.other.issuer} instead of ${quirks.authorization.issuer}.`,
  );
  expect(quirks.other.requests.filter(({ method }) => method === "POST")).toEqual([]);
  const yes = await world.run(["login", "notes"], { person: reply("y") });
  expect(yes).toMatchObject({ code: 0, stdout: expect.stringContaining(`with ${quirks.other.issuer}.`) });
});

test("[TS-D-ADMIN-9] trust approves what the running gateway shows, and the gateway tries the server at once", async () => {
  const world = await createLoginWorld();
  await startUp(world);
  expect(await world.run(["trust"])).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^notes +http +new +pending approval/m),
  });
  expect(await world.run(["login", "notes"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Server "notes" is pending approval'),
  });
  const approved = await world.run(["trust", "notes"], { person: async () => "y" });
  expect(approved.code).toBe(0);
  expect(approved.stdout).toContain('Server "notes" (line 3) is a network server (http).');
  // It was tried, and now requires a sign-in.
  expect(approved.stdout).toMatch(/\nnotes is approved\.\n.*sign-in required/);
  expect(await world.run(["trust", "notes"])).toMatchObject({ code: 0, stdout: "notes is trusted: approved.\n" });
  // The entry changes after its approval.
  world.configure({ notes: { type: "http", url: `${world.tool.url}?more` } });
  await expect
    .poll(async () => (await world.run(["trust", "--json"])).stdout, pollOptions)
    .toContain('"state": "changed"');
  const changed = await world.run(["trust", "notes", "--yes"]);
  expect(changed).toMatchObject({ code: 0, stdout: expect.stringContaining("has changed since approval:") });
});

test("[TS-D-ADMIN-9] does not use a gateway of another configuration, unless --endpoint selects it", async () => {
  const world = await createLoginWorld();
  const other = join(world.folder, "other", ".mcp.json");
  mkdirSync(dirname(other));
  writeFileSync(other, JSON.stringify({ diary: { type: "http", url: world.tool.url } }));
  const up = await startUp({ ...world, shared: ["--config", other, "--allow-insecure-loopback"] }, "--trust");
  const auth = await world.run(["auth"], { person: async () => "y" });
  expect(auth.stdout).toMatch(/^Tokens are stored in .*\n\n.*\nnotes +not signed in/s);
  const asked = await world.run(["auth", "--endpoint"]);
  expect(asked.stdout).toMatch(
    new RegExp(`^Sign-ins of the gateway at ${originOf(up)}\\.\n\n.*\ndiary +not signed in`, "s"),
  );
  expect(await world.run(["auth", "notes", "--endpoint"])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/The gateway at \S+ has no server "notes"\. Servers: diary\./),
  });
});

test("[TS-D-ADMIN-9] does not use the gateway for a command with another profile or trust", async () => {
  const world = await createLoginWorld();
  await startUp(world, "--trust");
  for (const options of [["--profile", "other"], ["--vault", "memory"], ["--trust"]]) {
    const { stdout } = await world.run(["auth", ...options], { person: async () => "y" });
    expect(stdout).not.toContain("Sign-ins of the gateway at");
    expect(stdout).toMatch(/^notes +not signed in/m);
    expect(await world.run(["auth", "--endpoint", ...options])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`so ${options[0]} has no effect. Remove one of them.`),
    });
  }
  expect((await world.run(["auth", "--profile", "default"])).stdout).toContain("Sign-ins of the gateway at");
});

test("[TS-D-ADMIN-9] reports that the gateway stopped or rejects the token", async () => {
  const world = await createLoginWorld();
  expect(await world.run(["auth", "--endpoint"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("No gateway is running. Start one: wirescope up."),
  });
  const up = await startUp(world, "--trust");
  const file = join(world.home, `.local/state/wirescope/gateways/${process.pid}.json`);
  const word = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...word, token: "another" }));
  for (const verb of [["auth"], ["login", "notes"], ["why", "notes"], ["trust"]]) {
    expect(await world.run(verb)).toMatchObject({
      code: 1,
      stderr: `wirescope: The gateway at ${originOf(up)} no longer accepts its token. Start it again: wirescope up.\n`,
    });
  }
  await up.stop();
  // The file of a gateway that was killed, and whose process id is in use again.
  writeFileSync(file, JSON.stringify(word));
  const alone = await world.run(["trust"]);
  expect(alone.stdout).toMatch(/^notes +http +new/m);
  expect(alone.stderr).not.toContain("gateway");
  const asked = await world.run(["trust", "--endpoint"]);
  expect(asked).toMatchObject({ code: 2, stdout: "" });
  expect(asked.stderr).toContain("No gateway is running. Start one: wirescope up.");
});
