import { expect, onTestFinished, test } from "vitest";
import { createOAuthWorld, type OAuthWorld } from "../../auth/oauth/oauth-world.test.helper.js";
import type { Ask } from "../../auth/oauth/sign-in/ask.js";
import type { Vault } from "../../auth/vault/vault.js";
import type { Clock } from "../../clock.js";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { failureOf } from "../../failure-of.test.helper.js";
import { createFakeClock } from "../../fake-clock.test.helper.js";
import type { OAuthSettings } from "./entry-oauth.js";
import { createToolServers, type ToolServers } from "./tool-servers.js";

/** The servers of a configuration with one entry, `notes`, which has only a type and a url. */
function serversOf(world: OAuthWorld, oauth: Partial<OAuthSettings>, clock?: Clock, isEager = false): ToolServers {
  const { secrets, vault } = world;
  const servers = createToolServers({
    configuration: parseConfiguration(JSON.stringify({ notes: { type: "http", url: world.tool.url } }), {
      secrets,
    }),
    variables: {},
    pluginRoot: process.cwd(),
    secrets,
    clock,
    isEager,
    assertTrusted: async () => {},
    oauth: { vault, profile: "test", allowInsecureLoopback: true, ...oauth },
    settings: { info: { name: "test", version: "0" } },
  });
  onTestFinished(() => servers.close());
  return servers;
}

test("[TS-OAUTH-1] [TS-OAUTH-2] lets a user sign in at the first use, and continues with the call", async () => {
  const world = await createOAuthWorld();
  const connection = await serversOf(world, { signIn: world.person }).open("notes");
  expect(await connection.callTool({ name: "scopes", arguments: {} })).toMatchObject({
    content: [{ text: "notes:read offline_access" }],
  });
  expect(world.signInRequests.map(({ reason }) => reason)).toEqual(["first"]);
});

test("waits longer for a user than for a silent server, in the handshake and in a call", async () => {
  const world = await createOAuthWorld();
  const clock = createFakeClock(Date.now());
  const slow: Ask = {
    async show(request, signal) {
      clock.advance(200_000);
      return world.person.show(request, signal);
    },
  };
  const connection = await serversOf(world, { signIn: slow }, clock).open("notes");
  await connection.connect();
  world.tool.neededScope = "notes:write";
  expect(await connection.callTool({ name: "scopes", arguments: {} })).toMatchObject({
    content: [{ text: "notes:read offline_access notes:write" }],
  });
  expect(world.signInRequests.map(({ reason }) => reason)).toEqual(["first", "step-up"]);
});

test("(11) names the command in the failure if there is no user to ask, and does nothing else", async () => {
  const world = await createOAuthWorld();
  const connection = await serversOf(world, {}).open("notes");
  const message =
    'The server "notes" refused the request. 401 Unauthorized: sign-in required. Sign in with: wirescope login notes';
  await expect(connection.listTools()).rejects.toMatchObject({ code: "SIGN_IN_NEEDED", message });
  expect(world.authorization.requests).toEqual([]);
});

test("names the server once if a sign-in failed", async () => {
  const world = await createOAuthWorld();
  const signIn: Ask = {
    async show() {
      throw new Error("no browser");
    },
  };
  const connection = await serversOf(world, { signIn }).open("notes");
  const { message } = await failureOf(connection.listTools());
  expect(message.match(/"notes"/g)).toHaveLength(1);
});

test("names a missing permission with the command that requests it", async () => {
  const world = await createOAuthWorld();
  const servers = serversOf(world, {});
  await (await servers.oauth("notes"))?.signIn(world.person);
  world.tool.neededScope = "notes:write";
  await expect((await servers.open("notes")).listTools()).rejects.toMatchObject({
    code: "SIGN_IN_NEEDED",
    message: expect.stringMatching(
      /scope notes:write required\. Sign in with: wirescope login notes --scope notes:write$/,
    ),
  });
  // A name that a shell would interpret is shown, but not in a command.
  world.tool.neededScope = "a;reboot";
  await expect((await servers.open("notes")).connect()).rejects.toMatchObject({
    message: expect.stringMatching(/scope a;reboot required\. Sign in with: wirescope login notes$/),
  });
});

test("looks up the settings of a server by its name and its url", async () => {
  const world = await createOAuthWorld();
  const lookups: string[][] = [];
  const overrides: OAuthSettings["overrides"] = (...about) => {
    lookups.push(about);
    return { scopes: ["notes:read"] };
  };
  await serversOf(world, { overrides }).open("notes");
  expect(lookups).toEqual([["notes", world.tool.url]]);
});

test("[TS-D-OAUTH-6] follows the sign-in and the sign-out of another process without waiting for the next attempt", async () => {
  const world = await createOAuthWorld();
  // No attempt is due while this clock does not advance.
  const connection = await serversOf(world, {}, createFakeClock(Date.now()), true).open("notes");
  await expect(connection.connect()).rejects.toMatchObject({ code: "SIGN_IN_NEEDED" });
  const other = await serversOf(world, {}).oauth("notes");
  await other?.signIn(world.person);
  await expect.poll(() => connection.state).toBe("READY");
  await other?.signOut();
  await expect.poll(() => connection.state).toBe("TRANSIENT_FAILURE");
});

/** A server of which nobody signed in, after this many attempts to connect: no other attempt is due while its clock does not advance. */
async function openRejected(world: OAuthWorld, attempts = 1, oauth: Partial<OAuthSettings> = {}) {
  const clock = createFakeClock(Date.now());
  const servers = serversOf(world, oauth, clock);
  const connection = await servers.open("notes");
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    clock.advance(600_000);
    await expect(connection.listTools()).rejects.toMatchObject({ code: "SIGN_IN_NEEDED" });
  }
  return { servers, connection };
}

test.each([1, 6])(
  "[TS-D-OAUTH-6] a program that signs in after %d failed attempts can call the server at once",
  async (attempts) => {
    const world = await createOAuthWorld();
    const { servers, connection } = await openRejected(world, attempts);
    const message = expect.stringMatching(/ It is tried again .*: wirescope login notes$/);
    await expect(connection.listTools()).rejects.toMatchObject({ message });
    const session = await servers.oauth("notes");
    await session?.signIn(world.person);
    expect(await connection.callTool({ name: "scopes", arguments: {} })).toMatchObject({
      content: [{ text: "notes:read offline_access" }],
    });
  },
);

test("[TS-D-OAUTH-6] a program can call a server as soon as the status of the server says that another process has signed in", async () => {
  const world = await createOAuthWorld();
  // The watch of a vault on a disk reports a change up to a second later.
  const vault: Vault = { ...world.vault, watch: () => () => {} };
  const { servers, connection } = await openRejected(world, 1, { vault });
  const session = await servers.oauth("notes");
  expect((await session?.status())?.isSignedIn).toBe(false);
  await (await serversOf(world, {}).oauth("notes"))?.signIn(world.person);
  expect((await session?.status())?.isSignedIn).toBe(true);
  await connection.listTools();
});

test("[TS-D-OAUTH-6] the sign-in of another process ends the delay of a connection that opens on demand, and opens nothing", async () => {
  const world = await createOAuthWorld();
  const { connection } = await openRejected(world);
  await (await serversOf(world, {}).oauth("notes"))?.signIn(world.person);
  await expect.poll(() => connection.state).toBe("IDLE");
  await connection.listTools();
});
