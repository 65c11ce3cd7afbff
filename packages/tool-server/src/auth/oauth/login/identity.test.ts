import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { setServerOptions } from "../../../command-line.js";
import { failureOf } from "../../../failure-of.test.helper.js";
import { createFakeClock, type FakeClock } from "../../../fake-clock.test.helper.js";
import { createSecretRegistry } from "../../../secrets/redactor.js";
import { waiting } from "../../../waiting.test.helper.js";
import { createMemoryVault } from "../../vault/memory-vault.js";
import { type VaultKey, writeEntry } from "../../vault/vault.js";
import { createPerson, createTestHttpClient } from "../oauth-world.test.helper.js";
import { createIdentityLogin, type IdentityLogin, type IdentityLoginOptions } from "./identity.js";

interface Provider {
  readonly issuer: string;
  /** That of the tokens and of the logins. */
  readonly clock: FakeClock;
  /** The user who signs in (`sub`). */
  user: string;
  /** The expiry of its identity tokens (`exp`). Default: in 30 s. */
  expiresAt?: number;
  /** Responds to a request with a refresh token. Default: with new tokens. */
  onRefresh: (respond: () => void, response: ServerResponse) => void;
  session(options?: Partial<IdentityLoginOptions>): IdentityLogin;
}

/** An identity provider whose tokens are about to expire, so that each use renews them. */
async function startProvider(): Promise<Provider> {
  const clock = createFakeClock(Date.now());
  let nonce: string | undefined;
  let count = 0;
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const idToken = (): string => {
    const now = Math.floor(clock.now() / 1000);
    const claims = {
      iss: provider.issuer,
      aud: "wirescope",
      sub: provider.user,
      iat: now,
      exp: provider.expiresAt ?? now + 30,
      nonce,
    };
    return `${encode({ alg: "RS256" })}.${encode(claims)}.c2lnbmF0dXJl`;
  };
  const respondJson = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const respondTokens = (response: ServerResponse): void => {
    count += 1;
    const tokens = { access_token: `access-${count}`, refresh_token: `refresh-${count}`, id_token: idToken() };
    respondJson(response, 200, { ...tokens, token_type: "Bearer", expires_in: 30 });
  };
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", provider.issuer);
    let body = "";
    for await (const chunk of request) body += String(chunk);
    if (pathname === "/authorize") {
      nonce = searchParams.get("nonce") ?? undefined;
      const back = new URL(searchParams.get("redirect_uri") ?? "");
      back.search = new URLSearchParams({ code: "a-code", state: searchParams.get("state") ?? "" }).toString();
      response.writeHead(302, { location: back.href }).end();
    } else if (pathname === "/token") {
      const respond = (): void => respondTokens(response);
      if (new URLSearchParams(body).get("grant_type") === "refresh_token") provider.onRefresh(respond, response);
      else respond();
    } else {
      const { issuer } = provider;
      respondJson(response, 200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const secrets = createSecretRegistry();
  const http = createTestHttpClient(secrets);
  const vault = createMemoryVault();
  onTestFinished(async () => {
    await http.close();
    await vault.dispose();
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const limits = { requestMs: 1e9, tokenMs: 1e9, renewalMs: 1e9, discoveryMs: 1e9 };
  const shared = { issuer, clientId: "wirescope", profile: "default", vault, http, secrets, clock, limits };
  const provider: Provider = {
    issuer,
    clock,
    user: "ada",
    onRefresh: (respond) => respond(),
    session: (options) => createIdentityLogin({ ...shared, allowInsecureLoopback: true, ...options }),
  };
  return provider;
}

const never = new AbortController().signal;

/** Lets time pass until a promise has settled: renewals pause between their attempts. */
async function inTime<T>({ clock }: Provider, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  promise.then(
    () => {
      isSettled = true;
    },
    () => {
      isSettled = true;
    },
  );
  while (!isSettled) {
    clock.advance(100);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return promise;
}

test.each([
  ["default", [], ""],
  ["work", [], " --profile work"],
  ["work", ["--profile", "work", "--vault", "file"], " --profile work --vault file"],
])(
  "advises a sign-in with the same profile and the client id, as a command that works: %s, %j",
  async (profile, options, more) => {
    setServerOptions([], options);
    onTestFinished(() => setServerOptions([]));
    const provider = await startProvider();
    const advice = (client: string): string =>
      `Sign in with: wirescope login --idp ${provider.issuer}${client} --allow-insecure-loopback${more}`;
    const first = { code: "SIGN_IN_NEEDED", advice: advice(" --client-id wirescope") };
    const unknown = { code: "SIGN_IN_NEEDED", advice: advice(" --client-id …") };
    const session = provider.session({ profile });
    expect(await failureOf(session.identity())).toMatchObject(first);
    expect(await failureOf(provider.session({ profile, clientId: undefined }).identity())).toMatchObject(unknown);
    await session.signIn(createPerson().person, never);
    provider.onRefresh = (_, response) =>
      response.writeHead(400, { "content-type": "application/json" }).end('{"error": "invalid_grant"}');
    provider.clock.advance(25_000);
    // The client of the stored sign-in is used again.
    const again = { code: "SIGN_IN_NEEDED", advice: advice("") };
    expect(await failureOf(session.identity())).toMatchObject(again);
    expect(await failureOf(provider.session({ profile, clientId: undefined }).identity())).toMatchObject(again);
  },
);

test("reports a sign-in that the user does not complete in time, with the time limit", async () => {
  const provider = await startProvider();
  const { clock } = provider;
  let isAsked = false;
  const session = provider.session();
  const failure = failureOf(
    session.signIn(
      {
        show: (_, signal) => {
          isAsked = true;
          return new Promise((_, reject) =>
            signal.addEventListener("abort", () => reject(new Error("The prompt was closed."))),
          );
        },
      },
      never,
    ),
  );
  await vi.waitFor(() => expect(isAsked).toBe(true), waiting);
  clock.advance(300_000);
  expect(await failure).toMatchObject({
    code: "SIGN_IN_FAILED",
    message: expect.stringContaining("the sign-in was not completed within 300 s."),
    advice: expect.stringMatching(/^Sign in again/),
  });
});

test("reports why a sign-in could not be started", async () => {
  const provider = await startProvider();
  const show = (): Promise<never> => Promise.reject(new Error("There is no browser."));
  expect(await failureOf(provider.session().signIn({ show }, never))).toMatchObject({
    code: "SIGN_IN_FAILED",
    message: expect.stringContaining("the sign-in was cancelled: There is no browser."),
  });
});

test("deletes the tokens at sign-out, also those of a renewal that runs meanwhile", async () => {
  const provider = await startProvider();
  const session = provider.session();
  await session.signIn(createPerson().person, never);
  let release: (() => void) | undefined;
  provider.onRefresh = (respond) => {
    release = respond;
  };
  provider.clock.advance(25_000);
  const renewal = session.identity();
  await vi.waitFor(() => expect(release).toBeDefined(), waiting);
  const signedOut = session.signOut();
  release?.();
  await renewal;
  expect(await signedOut).toBe(true);
  expect(await session.status()).toBeUndefined();
  expect(await session.signOut()).toBe(false);
});

test("a sign-in of another user and a sign-out delete the access tokens of the user before, and no others", async () => {
  const provider = await startProvider();
  const vault = createMemoryVault();
  onTestFinished(() => vault.dispose());
  const session = provider.session({ vault });
  const tokens = { accessToken: "a-token", tokenType: "Bearer", obtainedAt: 0, clientId: "us", resource: "https://t" };
  const shared = { owner: "", resource: "https://t", issuer: "https://as", tenant: "", item: "tokens" };
  const keyOf = (server: string, profile = "default"): VaultKey => ({ ...shared, profile, server });
  const grant = `enterprise ${provider.issuer}`;
  const storedServers = async (): Promise<string[]> =>
    (await vault.list()).keys
      .flatMap(({ item, server }) => (item === "tokens" && server !== provider.issuer ? [server] : []))
      .sort();
  await writeEntry(vault, keyOf("notes"), { ...tokens, grant, subject: "ada" });
  await writeEntry(vault, keyOf("of another provider"), {
    ...tokens,
    grant: "enterprise https://other",
    subject: "ada",
  });
  await writeEntry(vault, keyOf("of another profile", "work"), { ...tokens, grant, subject: "ada" });
  await writeEntry(vault, keyOf("of a user"), tokens);
  const others = ["of a user", "of another profile", "of another provider"];
  await session.signIn(createPerson().person, never);
  expect(await storedServers()).toEqual(["notes", ...others]);
  provider.user = "eve";
  await session.signIn(createPerson().person, never);
  expect(await storedServers()).toEqual(others);
  await writeEntry(vault, keyOf("notes"), { ...tokens, grant, subject: "eve" });
  await session.signOut();
  expect(await storedServers()).toEqual(others);
});

test.each([
  ["SERVER_FAILED", 503, "<html>"],
  ["SERVER_FAILED", 429, '{"error": "slow_down"}'],
  ["SIGN_IN_NEEDED", 400, '{"error": "invalid_client"}'],
])("a renewal reports %s for status %i, and works as soon as the provider does", async (code, status, body) => {
  const provider = await startProvider();
  const session = provider.session();
  await session.signIn(createPerson().person, never);
  const { onRefresh } = provider;
  provider.onRefresh = (_, response) => response.writeHead(status, { "content-type": "application/json" }).end(body);
  provider.clock.advance(30_000);
  expect(await inTime(provider, failureOf(session.identity()))).toMatchObject({ code });
  provider.onRefresh = onRefresh;
  provider.clock.advance(300_000);
  expect(await inTime(provider, session.identity())).toMatchObject({ subject: "ada" });
});

test("waits for an identity provider that renews a token after 29 seconds", async () => {
  const provider = await startProvider();
  const { clock } = provider;
  const session = provider.session({ limits: {} });
  await session.signIn(createPerson().person, never);
  clock.advance(25_000);
  let respondNow: (() => void) | undefined;
  provider.onRefresh = (respond) => {
    respondNow = respond;
  };
  const identity = session.identity();
  await vi.waitFor(() => expect(respondNow).toBeDefined(), waiting);
  clock.advance(29_000);
  respondNow?.();
  expect((await identity).subject).toBe("ada");
});

test("[TS-D-IDP-3] a program that runs uses the identity that another process has signed in or out", async () => {
  const provider = await startProvider();
  provider.expiresAt = Math.floor(provider.clock.now() / 1000) + 3600;
  const gateway = provider.session();
  const signIn = () => provider.session().signIn(createPerson().person, never);
  expect(await failureOf(gateway.identity())).toMatchObject({ code: "SIGN_IN_NEEDED" });
  await signIn();
  expect((await gateway.identity()).subject).toBe("ada");
  provider.user = "eve";
  await signIn();
  expect((await gateway.identity()).subject).toBe("eve");
  await provider.session().signOut();
  expect(await failureOf(gateway.identity())).toMatchObject({ code: "SIGN_IN_NEEDED" });
});

test("a sign-in with another client id that fails leaves the identity of the user as it is", async () => {
  const provider = await startProvider();
  await provider.session().signIn(createPerson().person, never);
  const show = (): Promise<never> => Promise.reject(new Error("no"));
  await expect(provider.session({ clientId: "mistyped" }).signIn({ show }, never)).rejects.toThrow("no");
  for (const clientId of [undefined, "mistyped"]) {
    provider.clock.advance(25_000);
    expect((await provider.session({ clientId }).identity()).subject).toBe("ada");
  }
});

test("a renewal that returns no identity token is not repeated, and says what is missing", async () => {
  const provider = await startProvider();
  const session = provider.session();
  await session.signIn(createPerson().person, never);
  let requests = 0;
  provider.onRefresh = (_, response) => {
    requests += 1;
    const tokens = { access_token: "a", refresh_token: "rotated", token_type: "Bearer", expires_in: 30 };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(tokens));
  };
  provider.clock.advance(25_000);
  expect(await failureOf(session.identity())).toMatchObject({
    code: "SIGN_IN_NEEDED",
    problem: expect.stringContaining("its response has no identity token"),
  });
  expect(requests).toBe(1);
});

test("reads an expiry that is not a date as expired", async () => {
  const provider = await startProvider();
  provider.expiresAt = 1e300;
  const { expiresAt } = await provider.session().signIn(createPerson().person, never);
  expect(expiresAt).toBe(0);
});
