import { createServer } from "node:net";
import type { Quirk } from "@wirescope/quirks";
import { describe, expect, test } from "vitest";
import { createFakeClock, type FakeClock } from "../../fake-clock.test.helper.js";
import { freePort } from "../../free-port.test.helper.js";
import { type Vault, writeEntry } from "../vault/vault.js";
import { interceptWrites } from "../vault/vault-contract.test.helper.js";
import type { OAuthLoginOptions } from "./login/login-options.js";
import { callTool, createOAuthWorld, currentToken, type OAuthWorld, replaceToken } from "./oauth-world.test.helper.js";
import type { Ask } from "./sign-in/ask.js";

/** Failures that users reported for other clients; the numbers are those of docs/oauth.md. */

interface SignedIn extends OAuthWorld {
  readonly clock: FakeClock;
  readonly options: Partial<OAuthLoginOptions>;
}

/** A world in which a user has signed in, and a clock that does not advance. */
async function signedIn(quirks: readonly Quirk[] = [], vault?: (vault: Vault) => Vault): Promise<SignedIn> {
  const world = await createOAuthWorld(quirks);
  const clock = createFakeClock(Date.now());
  // Requests are real, and take real time, regardless of this clock.
  const limits = { requestMs: 1e9, discoveryMs: 1e9 };
  const changed = vault?.(world.vault);
  const options = { clock, limits, ...(changed === undefined ? {} : { vault: changed }) };
  await world.session(options).signIn(world.person);
  world.signInRequests.length = 0;
  return { ...world, clock, options };
}

/** Advances a fake clock whenever a timer waits for it, until the work is done. */
async function passingTime<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const settled = work.finally(() => {
    isDone = true;
  });
  settled.catch(() => undefined);
  while (!isDone) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    if (clock.waiting > 0) clock.advance(100);
  }
  return settled;
}

const expire = (world: SignedIn): void => world.clock.advance(world.authorization.lifetimeS * 1000);
const refreshes = ({ authorization }: OAuthWorld): number => authorization.count("/token", "refresh_token");

describe("refresh", () => {
  test("[TS-OAUTH-6] (1) 64 calls on one expired, rotating token share one refresh, and all succeed", async () => {
    const world = await signedIn();
    const { credential } = world.credential(world.options);
    expire(world);
    const all = await Promise.all(Array.from({ length: 64 }, () => callTool(world.tool, credential)));
    expect(all.every(({ status }) => status === 200)).toBe(true);
    expect(refreshes(world)).toBe(1);
  });

  test("(1) 64 calls whose token is refused at once share one refresh", async () => {
    const world = await signedIn();
    const { credential, session } = world.credential(world.options);
    world.authorization.endAccess((await currentToken(session))?.record.accessToken ?? "");
    const all = await Promise.all(Array.from({ length: 64 }, () => callTool(world.tool, credential)));
    expect(all.map(({ status, attempts }) => [status, attempts])).toEqual(Array(64).fill([200, 2]));
    expect(refreshes(world)).toBe(1);
  });

  test("(2) refreshes once for several sessions over one vault, and the others find the result", async () => {
    const world = await signedIn();
    const sessions = Array.from({ length: 4 }, () => world.session(world.options));
    await Promise.all(sessions.map((session) => currentToken(session)));
    expire(world);
    const tokens = await Promise.all(sessions.map((session) => currentToken(session)));
    expect(new Set(tokens.map((token) => token?.record.accessToken)).size).toBe(1);
    expect(refreshes(world)).toBe(1);
  });

  test("(3) a process whose refresh token is dead does not delete newer tokens of another process", async () => {
    const world = await signedIn();
    const loser = world.session(world.options);
    const winner = world.session(world.options);
    await currentToken(loser);
    expire(world);
    // While the loser learns that its token is dead, a user signs in elsewhere.
    world.authorization.endRefreshTokens();
    let isFirst = true;
    let signedInElsewhere: Promise<unknown> | undefined;
    world.authorization.beforeToken = async () => {
      if (!isFirst) return;
      isFirst = false;
      const entry = (await world.vault.list()).keys.find(({ item }) => item === "tokens");
      if (entry === undefined) throw new Error("There are no tokens.");
      const kept = await world.vault.get(entry);
      signedInElsewhere = writeEntry(world.vault, entry, {
        ...kept?.value,
        accessToken: "access-of-the-winner",
        expiresAt: world.clock.now() + 1e6,
      });
    };
    expect(await currentToken(loser)).toBeUndefined();
    await signedInElsewhere;
    expect((await replaceToken(loser, undefined))?.record.accessToken).toBe("access-of-the-winner");
    expect((await currentToken(winner))?.record.accessToken).toBe("access-of-the-winner");
  });

  test("[TS-D-OAUTH-3, TS-SEC-7] (4) a rotated refresh token is durable before its access token is used", async () => {
    const order: string[] = [];
    const world = await signedIn([], (vault) =>
      interceptWrites(vault, async (key, value, write) => {
        const entry = await write(value);
        if (key.item === "tokens") order.push(`durable ${String(value.accessToken)}`);
        return entry;
      }),
    );
    const { credential } = world.credential(world.options);
    expire(world);
    order.length = 0;
    const { Authorization: sent = "" } = await credential.headers();
    order.push(`used ${sent.replace("Bearer ", "")}`);
    const token = sent.replace("Bearer ", "");
    expect(order).toEqual([`durable ${token}`, `used ${token}`]);
  });

  test("(4) a rotated token that the vault cannot store is kept in memory, and not used until it is stored", async () => {
    let isBroken = false;
    const world = await signedIn([], (vault) =>
      interceptWrites(vault, async (_, value, write) => {
        if (isBroken) throw Object.assign(new Error("full"), { name: "ToolServerError", code: "VAULT_UNREADABLE" });
        return write(value);
      }),
    );
    const session = world.session(world.options);
    expire(world);
    isBroken = true;
    await expect(currentToken(session)).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
    await expect(currentToken(session)).rejects.toMatchObject({ code: "VAULT_UNREADABLE" });
    isBroken = false;
    const token = await currentToken(session);
    expect(world.authorization.scopesOf(token?.record.accessToken ?? "")).toBeDefined();
    expect(refreshes(world)).toBe(1);
    expect((await currentToken(world.session(world.options)))?.record).toEqual(token?.record);
  });

  test("[TS-OAUTH-6] [TS-ERR-5] (5) no user is asked to sign in while a refresh token is valid", async () => {
    const world = await signedIn();
    const { credential } = world.credential(world.options, world.person);
    expire(world);
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 1 });
    expect(world.signInRequests).toEqual([]);
  });

  test("[TS-OAUTH-7] [TS-ERR-5] (5) a refresh that fails for a transient reason is retried, and opens no browser", async () => {
    const world = await signedIn();
    const { credential } = world.credential(world.options, world.person);
    expire(world);
    world.authorization.quirks.add("refresh-failing");
    await expect(passingTime(world.clock, credential.headers())).rejects.toMatchObject({ code: "SERVER_FAILED" });
    expect(refreshes(world)).toBe(3);
    // It is not retried for a while, and then works again.
    await expect(credential.headers()).rejects.toMatchObject({ code: "SERVER_FAILED" });
    expect(refreshes(world)).toBe(3);
    world.authorization.quirks.delete("refresh-failing");
    world.clock.advance(60_000);
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 1 });
    expect(world.signInRequests).toEqual([]);
  });

  test("(5) a refresh token is not sent to default endpoints while the metadata of its issuer is missing, and works afterwards", async () => {
    const world = await signedIn();
    const options = { ...world.options, url: `${world.authorization.origin}/mcp` };
    await world.session(options).signIn(world.person);
    expire(world);
    world.authorization.quirks.add("metadata-absent");
    const session = world.session(options);
    await expect(passingTime(world.clock, currentToken(session))).rejects.toMatchObject({
      code: "SERVER_FAILED",
      message: expect.stringContaining("does not publish its metadata any more"),
    });
    expect(refreshes(world)).toBe(0);
    world.authorization.quirks.delete("metadata-absent");
    world.clock.advance(60_000);
    expect(await currentToken(session)).toBeDefined();
    expect(refreshes(world)).toBe(1);
  });

  test("(5) a token that is due but not expired is used while its refresh fails", async () => {
    const world = await signedIn();
    const { credential } = world.credential(world.options);
    const before = await credential.headers();
    world.clock.advance(world.authorization.lifetimeS * 1000 - 30_000);
    world.authorization.quirks.add("refresh-failing");
    expect(await passingTime(world.clock, credential.headers())).toBe(before);
    expect(refreshes(world)).toBe(3);
  });

  test("(5) an error that asks for a sign-in says why the last token was not renewed, until there is another sign-in", async () => {
    const world = await signedIn();
    const { credential, session } = world.credential(world.options);
    expire(world);
    world.authorization.endRefreshTokens();
    const refused = await passingTime(world.clock, callTool(world.tool, credential));
    expect(refused).toMatchObject({ status: 401, code: "SIGN_IN_NEEDED" });
    expect(refused.reason).toMatch(
      /^401 Unauthorized: sign-in required\. The last renewal was refused: .*invalid_grant/,
    );
    await session.signIn(world.person);
    await session.signOut();
    expect((await callTool(world.tool, credential)).reason).toBe("401 Unauthorized: sign-in required.");
  });

  test("[TS-ERR-4] (6) a refused token causes one refresh, and then asks the user to sign in", async () => {
    const world = await signedIn();
    const { credential } = world.credential(world.options);
    world.tool.quirks.add("resource-refuses-all");
    for (let call = 0; call < 5; call += 1) {
      expect(await callTool(world.tool, credential)).toMatchObject({ status: 401, code: "SIGN_IN_NEEDED" });
    }
    expect(refreshes(world)).toBe(1);
  });

  test("(6) a server that refuses the token of a sign-in does not cause repeated sign-ins", async () => {
    const world = await signedIn();
    const { credential } = world.credential(world.options, world.person);
    world.tool.quirks.add("resource-refuses-all");
    for (let call = 0; call < 5; call += 1) {
      expect(await callTool(world.tool, credential)).toMatchObject({ status: 401, code: "SIGN_IN_NEEDED" });
    }
    expect(world.signInRequests.length).toBeLessThanOrEqual(1);
  });

  test("(7) a token without a refresh token is used until it is refused, in every process", async () => {
    const world = await signedIn(["token-without-refresh"]);
    expire(world);
    for (let start = 0; start < 3; start += 1) {
      const { credential } = world.credential(world.options);
      expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 1 });
    }
    const { credential, session } = world.credential(world.options);
    world.authorization.endAccess((await currentToken(session))?.record.accessToken ?? "");
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 401, code: "SIGN_IN_NEEDED" });
  });

  test("(7) a token of unknown expiry is used until it is refused, and then refreshed", async () => {
    const world = await signedIn(["token-expiry-unknown"]);
    const { credential, session } = world.credential(world.options);
    world.clock.advance(1e9);
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 1 });
    world.authorization.endAccess((await currentToken(session))?.record.accessToken ?? "");
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 2 });
    expect(refreshes(world)).toBe(1);
  });

  test("(7) a token of another process is used after a request with an old token, or none, was refused", async () => {
    const world = await signedIn(["token-without-refresh"]);
    const { credential, session } = world.credential(world.options);
    const stranger = world.credential({ ...world.options, tenant: "t2" }).credential;
    expect(await stranger.headers()).toEqual({});
    const old = await currentToken(session);
    await world.session(world.options).signIn(world.person);
    await world.session({ ...world.options, tenant: "t2" }).signIn(world.person);
    world.authorization.endAccess(old?.record.accessToken ?? "");
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 2 });
    expect(await callTool(world.tool, stranger)).toMatchObject({ status: 200, attempts: 2 });
  });

  test("the old refresh token is kept if the server issues no new one", async () => {
    const world = await signedIn(["refresh-keeps-token"]);
    const { credential } = world.credential(world.options);
    for (let round = 1; round <= 3; round += 1) {
      expire(world);
      expect(await callTool(world.tool, credential)).toMatchObject({ status: 200, attempts: 1 });
      expect(refreshes(world)).toBe(round);
    }
  });

  test("[TS-OAUTH-7] [TS-ERR-5] a dead refresh token asks for one sign-in, once", async () => {
    const world = await signedIn();
    const { credential } = world.credential(world.options, world.person);
    expire(world);
    world.authorization.endRefreshTokens();
    const all = await Promise.all(Array.from({ length: 16 }, () => callTool(world.tool, credential)));
    expect(all.every(({ status }) => status === 200)).toBe(true);
    expect(world.signInRequests.map(({ reason }) => reason)).toEqual(["dead"]);
    expect(refreshes(world)).toBe(1);
  });

  test.each(["refresh-dead-unclear", "refresh-dead-in-200", "refresh-html"] as const)(
    "[TS-OAUTH-7] [TS-ERR-5] (8) a dead refresh token with an unclear response (%s) is retried a few times, and then a user is asked",
    async (quirk) => {
      const world = await signedIn();
      const { credential } = world.credential(world.options, world.person);
      expire(world);
      world.authorization.quirks.add(quirk);
      expect(await passingTime(world.clock, callTool(world.tool, credential))).toMatchObject({ status: 200 });
      expect(refreshes(world)).toBe(3);
      expect(world.signInRequests).toHaveLength(1);
    },
  );

  test("(9) offline_access is requested if it is supported", async () => {
    const world = await createOAuthWorld();
    await world.session().signIn(world.person);
    expect(world.signInRequests[0]?.scopes).toEqual(["notes:read", "offline_access"]);
  });
});

describe("loops", () => {
  test("[TS-OAUTH-2] [TS-OAUTH-3] [TS-D-OAUTH-2] (10) a hundred calls that need a sign-in open one browser", async () => {
    const world = await createOAuthWorld();
    const { credential } = world.credential({}, world.person);
    const all = await Promise.all(Array.from({ length: 100 }, () => callTool(world.tool, credential)));
    expect(all.every(({ status }) => status === 200)).toBe(true);
    expect(world.signInRequests).toHaveLength(1);
  });

  test("(10) asks once for several sessions over one vault, and the others find the tokens", async () => {
    const world = await createOAuthWorld();
    const credentials = Array.from({ length: 3 }, () => world.credential({}, world.person).credential);
    const all = await Promise.all(credentials.map((credential) => callTool(world.tool, credential)));
    expect(all.every(({ status }) => status === 200)).toBe(true);
    expect(world.signInRequests).toHaveLength(1);
  });

  test("(10) several sessions whose tokens die at once ask one user, once", async () => {
    const world = await signedIn();
    const credentials = Array.from({ length: 3 }, () => world.credential(world.options, world.person).credential);
    for (const credential of credentials) await credential.headers();
    expire(world);
    world.authorization.endRefreshTokens();
    for (const credential of credentials) expect(await credential.headers()).toEqual({});
    const all = await Promise.all(credentials.map((credential) => callTool(world.tool, credential)));
    expect(all.every(({ status }) => status === 200)).toBe(true);
    expect(world.signInRequests).toHaveLength(1);
  });

  test("(10) a sign-in that is requested while another runs joins it", async () => {
    const world = await createOAuthWorld();
    const session = world.session();
    const all = await Promise.all(Array.from({ length: 5 }, () => session.signIn(world.person)));
    expect(new Set(all).size).toBe(1);
    expect(world.signInRequests).toHaveLength(1);
  });

  test("(10) a sign-in after an abandoned one asks its own user, and not that of the abandoned one", async () => {
    const world = await createOAuthWorld();
    const session = world.session();
    const gone = new AbortController();
    gone.abort(new Error("gone before it started"));
    const nobody: Ask = { show: () => Promise.reject(new Error("asked the wrong person")) };
    await expect(session.signIn(nobody, {}, gone.signal)).rejects.toThrow("gone before it started");
    expect(session.isSigningIn).toBe(false);

    const leaving = new AbortController();
    const { promise: isAsked, resolve: onAsked } = withResolvers();
    const leaver: Ask = {
      show(_, signal) {
        onAsked();
        return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    };
    const left = session.signIn(leaver, {}, leaving.signal);
    await isAsked;
    leaving.abort(new Error("gone while it ran"));
    const next = session.signIn(world.person);
    await expect(left).rejects.toThrow("gone while it ran");
    expect((await next).record.accessToken).toMatch(/^access-/);
    expect(world.signInRequests).toHaveLength(1);
    expect(session.isSigningIn).toBe(false);
  });

  test("(11) starts no sign-in and registers no client without a user", async () => {
    const world = await createOAuthWorld();
    const { credential } = world.credential();
    for (let probe = 0; probe < 3; probe += 1) {
      const call = await callTool(world.tool, credential);
      expect(call).toMatchObject({ status: 401, attempts: 1, code: "SIGN_IN_NEEDED" });
      expect(call.advice).toContain("wirescope login notes");
    }
    expect(world.authorization.requests).toEqual([]);
  });
});

describe("redirects", () => {
  test("(18) the callback port stays the same for a registration", async () => {
    const world = await createOAuthWorld();
    for (let signIn = 0; signIn < 3; signIn += 1) await world.session().signIn(world.person);
    const uris = world.signInRequests.map(({ way }) => (way.kind === "browser" ? way.redirectUri : ""));
    expect(new Set(uris).size).toBe(1);
    expect(uris[0]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  });

  test("(19) the callback port is bound only during a sign-in; the error for a port in use names it", async () => {
    const world = await createOAuthWorld();
    const port = await freePort();
    const session = world.session({ redirect: { port } });
    await session.signIn(world.person);
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(port, "127.0.0.1", resolve));
    try {
      await expect(session.signIn(world.person)).rejects.toMatchObject({
        code: "SIGN_IN_FAILED",
        message: expect.stringContaining(`port ${port} of 127.0.0.1`),
      });
    } finally {
      await new Promise((resolve) => squatter.close(resolve));
    }
    await session.signIn(world.person);
    expect(world.authorization.count("/register")).toBe(1);
  });

  test("(20) the redirect host may be localhost", async () => {
    const world = await createOAuthWorld();
    await world.session({ redirect: { host: "localhost" } }).signIn(world.person);
    expect(world.signInRequests[0]?.way).toMatchObject({
      redirectUri: expect.stringMatching(/^http:\/\/localhost:\d+\/callback$/),
    });
  });

  test("(21) the address of a browser that cannot reach this machine can be pasted", async () => {
    const world = await createOAuthWorld();
    const remote: Ask = {
      async show({ way }) {
        const response = await fetch(way.url, { redirect: "manual" });
        return ` ${response.headers.get("location")} `;
      },
    };
    expect((await world.session().signIn(remote)).record.accessToken).toMatch(/^access-/);
  });

  test("(21) another pasted address is rejected, and the error shows which one to paste", async () => {
    const world = await createOAuthWorld();
    const mistaken: Ask = { show: async () => "https://as.example/authorize?code=x" };
    await expect(world.session().signIn(mistaken)).rejects.toMatchObject({
      code: "SIGN_IN_FAILED",
      message: expect.stringContaining("which starts with http://127.0.0.1:"),
    });
  });
});

describe("discovery", () => {
  test.each(["metadata-html", "resource-metadata-html"] as const)(
    "(22) a page with status 200 at a well-known url (%s) is not metadata, and the search continues",
    async (quirk) => {
      const world = await createOAuthWorld([quirk]);
      if (quirk === "resource-metadata-html") {
        // Then the oldest revision makes the tool server its own authorization server, which it is not.
        await expect(world.session().signIn(world.person)).rejects.toMatchObject({ code: "REGISTRATION_REFUSED" });
        return;
      }
      await world.session().signIn(world.person);
      expect(world.authorization.requests.map(({ path }) => path).slice(0, 2)).toEqual([
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
      ]);
    },
  );

  test("(23) the resource is sent as it was published, with its slash, in all requests", async () => {
    const world = await createOAuthWorld(["resource-with-slash"]);
    const clock = createFakeClock(Date.now());
    const session = world.session({ clock });
    await session.signIn(world.person);
    clock.advance(3_600_000);
    await currentToken(session);
    const sent = world.authorization.requests.flatMap(({ query, form }) => [
      ...query.getAll("resource"),
      ...form.getAll("resource"),
    ]);
    expect(sent).toEqual([`${world.tool.url}/`, `${world.tool.url}/`, `${world.tool.url}/`]);
  });
});

describe("registration", () => {
  test("(24) a client that the server has forgotten is registered again, once", async () => {
    const world = await createOAuthWorld();
    await world.session().signIn(world.person);
    world.authorization.forgetClients();
    await world.session().signIn(world.person);
    expect(world.authorization.count("/register")).toBe(2);
    expect(world.signInRequests).toHaveLength(2);
  });

  test("(24) a client that turns out dead at the token endpoint is registered again, and the sign-in begins once more", async () => {
    const world = await createOAuthWorld();
    const forgetful: Ask = {
      async show({ way }) {
        world.signInRequests.push({} as never);
        const { headers } = await fetch(way.url, { redirect: "manual" });
        // The last page waits for the token endpoint, so the client is forgotten before it is opened.
        if (world.signInRequests.length === 1) world.authorization.forgetClients();
        await fetch(headers.get("location") ?? "");
        return undefined;
      },
    };
    expect((await world.session().signIn(forgetful)).record.accessToken).toMatch(/^access-/);
    expect(world.authorization.count("/register")).toBe(2);
    expect(world.signInRequests).toHaveLength(2);
  });

  test("(24) tokens of a deleted client are not retried forever", async () => {
    const world = await signedIn();
    const { credential } = world.credential(world.options, world.person);
    expire(world);
    world.authorization.forgetClients();
    expect(await callTool(world.tool, credential)).toMatchObject({ status: 200 });
    expect(refreshes(world)).toBe(1);
    expect(world.authorization.count("/register")).toBe(2);
  });

  test("(25) one registration serves all sign-ins", async () => {
    const world = await createOAuthWorld();
    for (let signIn = 0; signIn < 3; signIn += 1) await world.session().signIn(world.person);
    expect(world.authorization.count("/register")).toBe(1);
  });

  test("(26) requests only the scopes of the challenge, never all that the server supports", async () => {
    const world = await createOAuthWorld();
    world.tool.challengedScope = "notes:write";
    const { credential } = world.credential({}, world.person);
    await callTool(world.tool, credential);
    expect(world.signInRequests[0]?.scopes).toEqual(["notes:write", "offline_access"]);
    expect(world.authorization.requests.find(({ path }) => path === "/authorize")?.query.get("scope")).toBe(
      "notes:write offline_access",
    );
  });

  test("(26) no scope is sent if none is named", async () => {
    const world = await createOAuthWorld();
    world.tool.challengedScope = "";
    world.tool.scopesSupported = undefined;
    const { credential } = world.credential({}, world.person);
    await callTool(world.tool, credential);
    expect(world.authorization.requests.find(({ path }) => path === "/authorize")?.query.has("scope")).toBe(false);
  });
});

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
