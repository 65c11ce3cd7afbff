import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { createFakeClock } from "../../../fake-clock.test.helper.js";
import { startHostileServer } from "../../../http/hostile-http-server.test.helper.js";
import { waiting } from "../../../waiting.test.helper.js";
import { createClientStore } from "../clients/client-store.js";
import { legacyAuthorizationServer } from "../discovery/metadata.js";
import { createLoginStore, type TokenRecord, tokenLockWaitMs, vaultKeyOf } from "../login-store.js";
import { createOAuthWorld } from "../oauth-world.test.helper.js";
import { createTokenRenewer } from "./renewal.js";
import { createTokenManager, type TokenManagerOptions } from "./token-manager.js";

const record: TokenRecord = {
  accessToken: "access-1",
  tokenType: "Bearer",
  refreshToken: "refresh-1",
  expiresAt: undefined,
  obtainedAt: 0,
  scopes: undefined,
  identity: undefined,
  clientId: "",
  resource: "https://h/mcp",
  requestedScopes: [],
  proofKey: undefined,
};

/** A renewal whose token endpoint responds when the test says so, with a clock that only the test advances. */
async function startRenewal(more: Partial<TokenManagerOptions> = {}) {
  const requests: ServerResponse[] = [];
  const { url } = await startHostileServer((_, response) => requests.push(response));
  const world = await createOAuthWorld();
  const clock = createFakeClock();
  const { context } = world.session({ clock });
  const { vault } = world;
  const key = vaultKeyOf(context, url.origin, "tokens");
  const clients = createClientStore(context, { vault, keyOf: (issuer) => ({ ...key, issuer, item: "client" }) });
  const renew = createTokenRenewer(context, clients, async () => legacyAuthorizationServer(url));
  const manager = createTokenManager({
    store: createLoginStore(context),
    ...context,
    vault,
    key,
    renew,
    ...more,
  });
  const startedAt = clock.now();
  const saved = await manager.save(record);
  const ended = manager.replace(saved).then(
    (token) => ({ token: token?.record.accessToken, afterMs: clock.now() - startedAt }),
    ({ code }) => ({ code, afterMs: clock.now() - startedAt }),
  );
  const arrived = (count: number) => expect.poll(() => requests.length, waiting).toBe(count);
  return { requests, clock, ended, arrived, events: world.events, manager, saved };
}

const tokens = JSON.stringify({ access_token: "access-2", token_type: "Bearer" });

test("waits for a token endpoint that responds after 29 seconds", async () => {
  const { requests, clock, ended, arrived } = await startRenewal();
  await arrived(1);
  clock.advance(29_000);
  requests[0]?.setHeader("content-type", "application/json").end(tokens);
  expect(await ended).toEqual({ token: "access-2", afterMs: 29_000 });
});

test("starts no second attempt after a token endpoint that was silent for 30 seconds", async () => {
  const { requests, clock, ended, arrived } = await startRenewal();
  await arrived(1);
  clock.advance(30_000);
  expect(await ended).toEqual({ code: "SERVER_UNREACHABLE", afterMs: 30_000 });
  expect(requests).toHaveLength(1);
});

test("ends a renewal with all its attempts before others stop waiting for the lock", async () => {
  const { requests, clock, ended, arrived, events } = await startRenewal();
  await arrived(1);
  clock.advance(19_000);
  requests[0]?.writeHead(503).end();
  await expect.poll(() => events.map(({ kind }) => kind), waiting).toContain("renewal-retry");
  clock.advance(500);
  await arrived(2);
  clock.advance(30_000);
  const { afterMs } = await ended;
  expect(afterMs).toBe(49_500);
  expect(afterMs).toBeLessThan(tokenLockWaitMs);
});

test("ends a request for tokens without a user before others stop waiting for the lock", async () => {
  const { clock, ended } = await startRenewal({ acquire: () => new Promise(() => {}) });
  await expect.poll(() => clock.waiting, waiting).toBe(1);
  clock.advance(50_000);
  expect(await ended).toEqual({ code: "SERVER_UNREACHABLE", afterMs: 50_000 });
});

test.each([
  ["invalid_grant", undefined],
  ["temporarily_odd", "access-1"],
])(
  "[TS-D-STORE-10] tries once after a renewal that got no response, and says that it may have used the refresh token if that is refused with %s",
  async (error, kept) => {
    const { requests, clock, ended, arrived, manager, saved } = await startRenewal();
    await arrived(1);
    clock.advance(30_000);
    expect(await ended).toMatchObject({ code: "SERVER_UNREACHABLE" });
    clock.advance(60_000);
    const again = manager.replace(saved);
    await arrived(2);
    requests[1]?.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error }));
    expect(await again).toBeUndefined();
    expect(requests).toHaveLength(2);
    expect(manager.state.refusal?.message).toMatch(
      /An interrupted renewal may have used the refresh token\. Sign in again/,
    );
    expect(manager.state.held?.record.accessToken).toBe(kept);
  },
);
