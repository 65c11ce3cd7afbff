import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openToolServers, trustAll } from "@wirescope/tool-server";
import { describe, expect, test } from "vitest";
import { freePort } from "../free-port.test.helper.js";
import { browsingPerson, createLoginWorld, type LoginWorld } from "./login-world.test.helper.js";
import { runGateway } from "./running-command.test.helper.js";

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const machine = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [] };
const call = ["call", "notes", "read", "--trust"];

/** Writes the user's file, and returns its path. */
function keep(world: LoginWorld, content: unknown, mode = 0o600): string {
  const folder = join(world.home, ".config", "wirescope");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "oauth.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  chmodSync(path, mode);
  return path;
}

describe("a client in the user's OAuth file", () => {
  test("uses a client that was registered by hand instead of a registration, at its own port", async () => {
    const port = await freePort();
    const world = await createLoginWorld({
      clients: [
        {
          client_id: "by-hand",
          token_endpoint_auth_method: "none",
          redirect_uris: [`http://localhost:${port}/callback`],
          grant_types: ["authorization_code", "refresh_token"],
          application_type: "native",
        },
      ],
    });
    keep(world, { notes: { clientId: "by-hand", callbackHost: "localhost", callbackPort: port, scopes: ["openid"] } });
    const { code, stderr } = await world.run(["login", "notes", "--trust"], { person: browsingPerson() });
    expect(code).toBe(0);
    expect(stderr).toContain("client_id=by-hand");
    expect(stderr).toContain(`redirect_uri=http%3A%2F%2Flocalhost%3A${port}%2Fcallback`);
    expect(world.authorization.count("/reg")).toBe(0);
    expect((await world.run(call)).code).toBe(0);
  });

  test.each([
    ["a secret", { clientSecret: "${NOTES_SECRET}" }],
    ["the output of a command", { clientSecret: { command: ["sh", "./secret.sh", "${NOTES_ITEM}"] } }],
    ["a key", { privateKeyFile: "notes.pem" }],
  ])("[TS-D-SECRET-10] gets tokens without a person, and authenticates by %s", async (_, proof) => {
    const world = await createLoginWorld({
      clients: [
        "clientSecret" in proof
          ? { ...machine, client_id: "robot", client_secret: "a-secret-of-the-robot" }
          : {
              ...machine,
              client_id: "robot",
              token_endpoint_auth_method: "private_key_jwt",
              jwks: { keys: [publicKey.export({ format: "jwk" })] },
            },
      ],
    });
    const path = keep(world, {
      notes: { url: world.tool.url, grant: "client-credentials", clientId: "robot", ...proof },
    });
    writeFileSync(join(path, "../notes.pem"), privateKey.export({ format: "pem", type: "pkcs8" }));
    writeFileSync(join(path, "../secret.sh"), 'echo "a-secret-of-the-$1"\n');
    const env = { NOTES_SECRET: "a-secret-of-the-robot", NOTES_ITEM: "robot" };
    expect(await world.run(call, { env })).toMatchObject({ code: 0, stdout: "milk, eggs\n" });
    const login = await world.run(["login", "notes", "--trust", "--debug"], { env });
    expect(login).toMatchObject({ code: 0, stdout: expect.stringContaining("Signed in to notes") });
    expect(login.stderr).not.toContain("a-secret-of-the-robot");
    expect(world.authorization.count("/auth")).toBe(0);
  });

  test("a running gateway uses a changed client and its key, and reports a file that it cannot use", async () => {
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const client = (client_id: string, key: typeof publicKey) => {
      const jwks = { keys: [key.export({ format: "jwk" })] };
      return { ...machine, client_id, token_endpoint_auth_method: "private_key_jwt", jwks };
    };
    const world = await createLoginWorld({ clients: [client("before", publicKey), client("after", other.publicKey)] });
    const use = (clientId: string, key: typeof privateKey): string => {
      const keyFile = join(world.home, `${clientId}.pem`);
      writeFileSync(keyFile, key.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
      const settings = { url: world.tool.url, grant: "client-credentials", clientId, privateKeyFile: keyFile };
      return keep(world, { notes: settings });
    };
    const clientsSeen = (): Promise<unknown[]> =>
      Promise.all([...world.tool.seen].map(async (token) => (await world.authorization.find(token))?.clientId));
    use("before", privateKey);
    const gateway = await runGateway(["--trust", ...world.shared], { env: world.env });
    await expect.poll(clientsSeen).toEqual(["before"]);
    use("after", other.privateKey);
    await expect.poll(clientsSeen).toEqual(["before", "after"]);
    keep(world, "{");
    await expect.poll(() => gateway.stderr).toContain("The previous configuration stays in use.");
  });

  test.each([
    ["assertion", { grant: "workload", clientId: "robot" }, "assertionFile"],
    [
      "identity token",
      {
        grant: "enterprise",
        clientId: "robot",
        identityTokenEndpoint: "https://idp.example/token",
        identityClientId: "x",
      },
      "identityTokenFile",
    ],
  ])("a running gateway uses another file with the %s of a grant", async (_, grant, setting) => {
    const world = await createLoginWorld();
    const use = (file: string): string => keep(world, { notes: { url: world.tool.url, ...grant, [setting]: file } });
    use("before.jwt");
    await runGateway(["--trust", ...world.shared], { env: world.env });
    const status = async (): Promise<string> => (await world.run(["status", "--json"])).stdout;
    await expect.poll(status).toContain("cannot read the file before.jwt");
    use("after.jwt");
    await expect.poll(status).toContain("cannot read the file after.jwt");
  });

  test("a running gateway says once, in its log, that settings are for another url", async () => {
    const world = await createLoginWorld();
    const use = (scope: string): string =>
      keep(world, { notes: { url: "https://other.example/mcp", scopes: [scope] } });
    use("a");
    const gateway = await runGateway(["--trust", "--log", "json", ...world.shared], {
      env: world.env,
    });
    const note = "with a different url, so it is not used here.";
    await expect.poll(() => gateway.stderr).toContain(note);
    use("b");
    await expect.poll(() => gateway.stderr).toContain('"reloaded"');
    expect(gateway.stderr.split(note)).toHaveLength(2);
    for (const line of gateway.stderr.trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
  });

  test("reports a refused client without its secret", async () => {
    const world = await createLoginWorld({ clients: [{ ...machine, client_id: "robot", client_secret: "right" }] });
    const secret = "wrong-secret-of-the-robot";
    keep(world, {
      notes: { url: world.tool.url, grant: "client-credentials", clientId: "robot", clientSecret: secret },
    });
    const { code, stderr } = await world.run(call);
    expect(code).toBe(1);
    expect(stderr).toContain("invalid_client");
    expect(stderr).not.toContain(secret);
  });

  test("[TS-SEC-1] uses a client only for the URL that it names, and not for another server of that name", async () => {
    const world = await createLoginWorld({
      clients: [{ ...machine, client_id: "robot", client_secret: "the-secret" }],
    });
    keep(world, {
      notes: {
        url: "https://notes.example/mcp",
        grant: "client-credentials",
        clientId: "robot",
        clientSecret: "the-secret",
      },
    });
    const { code, stderr } = await world.run(call);
    expect(code).toBe(1);
    expect(stderr).toContain("has an entry for notes with a different url, so it is not used here.");
    expect(stderr).toContain("Sign in with: wirescope login notes");
    expect(world.authorization.count("/token")).toBe(0);
  });

  test("uses the authorization server that the file names, whatever the tool server says", async () => {
    const world = await createLoginWorld();
    keep(world, { notes: { issuer: "https://127.0.0.1:9/elsewhere" } });
    const { code, stderr } = await world.run(["login", "notes", "--trust"], { person: browsingPerson() });
    expect(code).toBe(1);
    expect(stderr).toContain("127.0.0.1:9");
    expect(world.authorization.count("/reg")).toBe(0);
  });
});

describe("[TS-D-OAUTH-7] the oauth object of an entry", () => {
  const registered = (client_id: string, port: number, more = {}) => ({
    client_id,
    token_endpoint_auth_method: "none",
    redirect_uris: [`http://localhost:${port}/callback`],
    grant_types: ["authorization_code", "refresh_token"],
    application_type: "native",
    ...more,
  });

  test("signs in with its client, secret, scopes, redirect and parameters", async () => {
    const port = await freePort();
    const secret = "a-secret-of-the-entry-client";
    const more = { client_secret: secret, token_endpoint_auth_method: "client_secret_basic" };
    const world = await createLoginWorld({ clients: [registered("of-the-entry", port, more)] });
    const oauth = {
      clientId: "of-the-entry",
      clientSecret: "${NOTES_SECRET}",
      scopes: "openid notes:read",
      callbackHost: "localhost",
      callbackPort: port,
      authorizeParameters: { ui_locales: "de" },
    };
    world.configure({ notes: { type: "http", url: world.tool.url, oauth } });
    const login = await world.run(["login", "notes", "--trust"], {
      person: browsingPerson(),
      env: { NOTES_SECRET: secret },
    });
    expect(login).toMatchObject({ code: 0, stderr: expect.stringContaining("client_id=of-the-entry") });
    expect(login.stderr).toContain(`redirect_uri=http%3A%2F%2Flocalhost%3A${port}%2Fcallback`);
    expect(login.stderr).toContain("ui_locales=de");
    expect(login.stderr).not.toContain(secret);
    expect(world.authorization.count("/reg")).toBe(0);
    expect((await world.run(call, { env: { NOTES_SECRET: secret } })).code).toBe(0);
  });

  test("gives way to the user's own file, setting by setting", async () => {
    const port = await freePort();
    const world = await createLoginWorld({ clients: [registered("of-the-user", port)] });
    const oauth = { clientId: "of-the-entry", callbackHost: "localhost", callbackPort: port };
    world.configure({ notes: { type: "http", url: world.tool.url, oauth } });
    keep(world, { notes: { clientId: "of-the-user" } });
    const { code, stderr } = await world.run(["login", "notes", "--trust"], { person: browsingPerson() });
    expect(stderr).toContain("client_id=of-the-user");
    expect(stderr).toContain(`localhost%3A${port}%2Fcallback`);
    expect(code).toBe(0);
  });

  test("uses the oauth object only after it is approved, and asks again after a change of it", async () => {
    const world = await createLoginWorld();
    const entry = { type: "http", url: world.tool.url };
    world.configure({ notes: { ...entry, oauth: { clientId: "a" } } });
    expect((await world.run(["trust", "notes"], { person: async () => "y" })).code).toBe(0);
    world.configure({ notes: { ...entry, oauth: { clientId: "a", resource: false } } });
    const { code, stderr } = await world.run(["login", "notes"]);
    expect(code).toBe(1);
    expect(stderr).toContain("oauth.resource");
    expect(world.authorization.count("/auth")).toBe(0);
  });
});

test("[TS-D-OAUTH-7] reads the user's OAuth file in openToolServers", async () => {
  const world = await createLoginWorld({
    clients: [{ ...machine, client_id: "robot", client_secret: "a-secret-of-the-robot" }],
  });
  keep(world, {
    notes: {
      url: world.tool.url,
      grant: "client-credentials",
      clientId: "robot",
      clientSecret: "${NOTES_SECRET}",
    },
  });
  const environment = { ...world.env, NOTES_SECRET: "a-secret-of-the-robot" };
  const options = { environment, trust: trustAll(), allowInsecureLoopback: true };
  await using servers = await openToolServers(world.folder, options);
  const notes = await servers.open("notes");
  expect(await notes.callTool({ name: "read" })).toMatchObject({ content: [{ text: "milk, eggs" }] });
});

describe("an invalid OAuth file", () => {
  test.each([
    ["it is no JSON", '{\n "notes": {"clientSecret": "se-cr-et" x}}', "oauth.json:2:39: Unexpected x."],
    ["it is no object", "[]", "oauth.json must contain an object with one entry per server"],
    ["an entry is none", { notes: "x" }, '"notes" must be an object, but is a string.'],
    [
      "a field is unknown",
      { notes: { clientID: "x" } },
      'oauth.json:1:11: Unknown field "clientID". Did you mean clientId?',
    ],
    ["a field is of another kind", { notes: { callbackPort: "80" } }, "callbackPort must be a number, but is a string"],
    ["a list is none", { notes: { scopes: 1 } }, "scopes must be a list of strings, but is a number"],
    ["a port is none", { notes: { callbackPort: 70000 } }, "callbackPort must be an integer from 1 to 65535"],
    [
      "a host is not of this machine",
      { notes: { callbackHost: "0.0.0.0" } },
      "callbackHost must be 127.0.0.1 or localhost",
    ],
    ["a variable is not set", { notes: { clientId: "${NOT_SET}" } }, "NOT_SET is not set"],
    ["an issuer is no url", { notes: { issuer: "as.example" } }, "issuer must be an https:// URL"],
    [
      "a document is not of https",
      { notes: { clientMetadataUrl: "http://x/y" } },
      "clientMetadataUrl must be an https:// URL",
    ],
    ["a secret has no client", { notes: { url: "URL", clientSecret: "se-cr-et" } }, "clientSecret requires clientId"],
    ["a secret has no url", { notes: { clientId: "x", clientSecret: "se-cr-et" } }, "clientSecret requires url"],
    [
      "a command has no url",
      { notes: { clientId: "x", clientSecret: { command: ["cat", "x"] } } },
      "clientSecret requires url",
    ],
    [
      "a command is a string",
      { notes: { url: "URL", clientId: "x", clientSecret: { command: "cat x" } } },
      "clientSecret.command must be a list of the program and its arguments",
    ],
    [
      "a field of a command is unknown",
      { notes: { url: "URL", clientId: "x", clientSecret: { command: ["cat"], ttl: 5 } } },
      "clientSecret.ttl has no effect. Known fields: command, prefix and timeout.",
    ],
    [
      "a grant is unknown",
      { notes: { url: "URL", grant: "password" } },
      "grant must be client-credentials, workload or",
    ],
    ["a grant has no client", { notes: { url: "URL", grant: "client-credentials" } }, "requires clientId and a secret"],
    ["a grant has no file", { notes: { url: "URL", grant: "workload" } }, "the grant workload requires assertionFile"],
    ["a grant has no provider", { notes: { url: "URL", grant: "enterprise" } }, "requires identityProvider, or"],
    [
      "a key is not there",
      { notes: { url: "URL", clientId: "x", privateKeyFile: "none.pem" } },
      "cannot read the file none.pem: it does not exist (ENOENT).",
    ],
    [
      "a key is none",
      { notes: { url: "URL", clientId: "x", privateKeyFile: "oauth.json" } },
      "the file oauth.json must contain a private key",
    ],
  ])("rejects the OAuth file if %s", async (_, content, words) => {
    const world = await createLoginWorld();
    const text = typeof content === "string" ? content : JSON.stringify(content);
    const path = keep(world, text.replace("URL", world.tool.url));
    const { code, stderr } = await world.run(call);
    expect(stderr).toContain(words);
    expect(stderr).toContain(path);
    expect(code).toBe(2);
    expect(stderr).not.toContain("se-cr-et");
    expect(world.authorization.count("/token")).toBe(0);
  });

  test.skipIf(process.platform === "win32")(
    "neither waits for a key file that is a pipe, nor reads a huge one",
    async () => {
      const world = await createLoginWorld();
      const path = keep(world, { notes: { url: world.tool.url, clientId: "x", privateKeyFile: "key.pem" } });
      const key = join(path, "../key.pem");
      execFileSync("sh", ["-c", 'mkfifo "$0"', key]);
      expect(await world.spawn(call)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("cannot read the file key.pem: it is not a regular file."),
      });
      rmSync(key);
      writeFileSync(key, "");
      truncateSync(key, 1e9);
      expect((await world.spawn(call)).stderr).toContain(
        "cannot read the file key.pem: it is larger than 65536 bytes.",
      );
    },
  );

  test.each([
    [
      "its key is of another kind than its algorithm",
      "P-256",
      "RS256",
      "cannot sign with the algorithm RS256. Use ES256.",
    ],
    ["its algorithm is none", "P-256", "none", "cannot sign with the algorithm none. Use ES256."],
    ["its key is of an unknown curve", "secp256k1", undefined, "is not supported. Use EC (P-256, P-384 or P-521), RSA"],
  ])("names the key file of a client if %s", async (_, namedCurve, algorithm, words) => {
    const world = await createLoginWorld();
    const entry = { url: world.tool.url, clientId: "x", privateKeyFile: "key.pem", algorithm };
    const path = keep(world, { notes: { ...entry, grant: "client-credentials" } });
    const key = generateKeyPairSync("ec", { namedCurve }).privateKey;
    writeFileSync(join(path, "../key.pem"), key.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
    const { code, stderr } = await world.run(call);
    expect(stderr).toContain(`${path}, notes: the file key.pem must contain a private key that can be used.`);
    expect(stderr).toContain(words);
    expect(code).toBe(2);
    expect(world.authorization.count("/token")).toBe(0);
  });

  test("rejects an OAuth file with a secret that others can read", async () => {
    const world = await createLoginWorld();
    const entry = { url: world.tool.url, clientId: "x", clientSecret: "se-cr-et" };
    const path = keep(world, { notes: entry }, 0o644);
    expect(await world.run(call)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`other users can read it. Run chmod 600 ${path}`),
    });
    // A reference to a variable is not a secret.
    keep(world, { notes: { ...entry, clientSecret: "${S}" } }, 0o644);
    expect((await world.run(call, { env: { S: "x" } })).stderr).not.toContain("other users can read it");
  });

  test("[TS-D-SECRET-10] runs no command of an OAuth file that others can write", async () => {
    const world = await createLoginWorld();
    const command = ["touch", join(world.folder, "ran")];
    const entry = { url: world.tool.url, clientId: "x", clientSecret: { command }, grant: "client-credentials" };
    const path = keep(world, { notes: entry }, 0o666);
    expect(await world.run(call)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${path} contains a command, but other users can write to it`),
    });
    expect(existsSync(join(world.folder, "ran"))).toBe(false);
  });

  test.each(["status", "auth"])("%s shows the other servers if the settings of one cannot be used", async (command) => {
    const world = await createLoginWorld();
    const entry = { type: "http", url: world.tool.url };
    world.configure({ notes: entry, other: entry });
    keep(world, { notes: { url: world.tool.url, clientId: "x", privateKeyFile: "none.pem" } });
    const { code, stdout, stderr } = await world.run([command, "--trust"]);
    expect(stdout).toMatch(/^notes .*/m);
    expect(stdout).toMatch(/^other .*/m);
    expect(stdout + stderr).toContain("cannot read the file none.pem: it does not exist (ENOENT)");
    expect(code).toBe(1);
  });

  test("rejects a missing OAuth file that an option names", async () => {
    const world = await createLoginWorld();
    const env = { WIRESCOPE_OAUTH_FILE: join(world.folder, "none.json") };
    expect(await world.run(call, { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("none.json cannot be read: it does not exist (ENOENT)."),
    });
  });
});
