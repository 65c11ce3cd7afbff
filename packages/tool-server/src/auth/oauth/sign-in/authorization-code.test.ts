import type { Quirk } from "@wirescope/quirks";
import { describe, expect, test, vi } from "vitest";
import { createFakeClock } from "../../../fake-clock.test.helper.js";
import { discoverIssuer } from "../discovery/discover.js";
import { parseScopes, selectScopes } from "../discovery/scopes.js";
import { createOAuthWorld } from "../oauth-world.test.helper.js";
import type { Ask } from "./ask.js";
import { createAuthorizationAttempt, processAuthorizationResponse } from "./authorization-code.js";

const client = { kind: "configured", clientId: "us", authentication: "none" } as const;
const rules = { resource: "https://h/mcp", usesPkce: true, prompt: undefined, parameters: {} };
const state = "a-state-of-43-characters-as-the-redirect-has";
const parameters = { redirectUri: "http://127.0.0.1:1/callback", state, rules, scopes: ["a", "b"] };

describe("the authorization request", () => {
  test("an authorization request has PKCE with S256, a state, the resource and the scopes, each once, regardless of the endpoint's query", async () => {
    const world = await createOAuthWorld();
    const { context } = world.session();
    const server = await discoverIssuer(context, world.authorization.issuer);
    const endpoint = new URL(
      "https://as.example/authorize?tenant=x&state=fixed&response_type=token&code_challenge_method=plain",
    );
    const attempt = createAuthorizationAttempt(
      context,
      { ...server, authorizationEndpoint: endpoint },
      client,
      parameters,
    );
    expect(Object.fromEntries(attempt.url.searchParams)).toEqual({
      tenant: "x",
      response_type: "code",
      client_id: "us",
      redirect_uri: parameters.redirectUri,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
      state,
      resource: rules.resource,
      scope: "a b",
    });
    expect([...attempt.url.searchParams.keys()]).toHaveLength(9);
    expect(world.secrets.redact(attempt.codeVerifier)).not.toContain(attempt.codeVerifier);
    expect(attempt.issuer).toBe(world.authorization.issuer);
  });

  test.each(["pkce-absent", "pkce-plain"] as Quirk[])(
    "no authorization request is created if the server does not support S256 (%s)",
    async (quirk) => {
      const world = await createOAuthWorld([quirk]);
      await expect(world.session().signIn(world.person)).rejects.toMatchObject({
        code: "AUTHORIZATION_SERVER_INVALID",
        message: expect.stringContaining("PKCE"),
      });
      expect(world.signInRequests).toEqual([]);
    },
  );

  test("an authorization request contains no shell characters (CVE-2025-6514, CVE-2026-51997)", async () => {
    const world = await createOAuthWorld();
    const { context } = world.session();
    const server = await discoverIssuer(context, world.authorization.issuer);
    const endpoint = new URL("https://as.example/authorize?x=$(calc)&y=`id`;|<>\"'&z=%24%28a%29");
    const hostile = { ...client, clientId: "$(touch /tmp/x)`id`\"'|&" };
    const { url } = createAuthorizationAttempt(
      context,
      { ...server, authorizationEndpoint: endpoint },
      hostile,
      parameters,
    );
    expect(url.href).toMatch(/^https:\/\/as\.example\/authorize\?[A-Za-z0-9\-._~%&=+*]*$/);
  });
});

describe("the authorization response", () => {
  const expected = { state: "s", issuer: "https://as.example/t", sendsIssuer: false };
  const read = async (query: string, more = {}): Promise<string> => {
    const world = await createOAuthWorld();
    return processAuthorizationResponse(world.session().context, { ...expected, ...more }, new URLSearchParams(query));
  };

  test.each([
    ["state=s&code=c", {}],
    ["state=s&code=c&iss=https%3A%2F%2Fas.example%2Ft", {}],
    ["state=s&code=c&iss=https%3A%2F%2Fas.example%2Ft", { sendsIssuer: true }],
  ])("reads the code from the response %s", async (query, more) => {
    expect(await read(query, more)).toBe("c");
  });

  test.each([
    ["code=c", {}, "its state differs"],
    ["state=S&code=c", {}, "its state differs"],
    ["state=s&code=c", { sendsIssuer: true }, "does not name its issuer"],
    ["state=s&code=c&iss=", {}, "is from"],
    ["state=s&code=c&iss=https://as.example/t/", {}, "is from"],
    ["state=s&code=c&iss=https://AS.example/t", {}, "is from"],
    ["state=s&code=c&iss=https://as.example:443/t", {}, "is from"],
    ["state=s&code=c&iss=https://as.example/%2574", {}, "is from"],
    ["state=s&code=c&code=d", {}, "code twice"],
    ["state=s&code=c&iss=https://as.example/t&iss=https://evil.example", {}, "iss twice"],
    ["state=s", {}, "neither a code nor an error"],
    ["state=s&error=access_denied", {}, "access_denied"],
  ])("refuses the authorization response %s", async (query, more, words) => {
    await expect(read(query, more)).rejects.toMatchObject({
      code: "SIGN_IN_FAILED",
      message: expect.stringContaining(words),
    });
  });

  test("an error of another issuer is not shown", async () => {
    const failed = read("state=s&error=access_denied&error_description=call+0800-EVIL&iss=https://evil.example");
    await expect(failed).rejects.toMatchObject({ code: "SIGN_IN_FAILED" });
    await expect(failed).rejects.not.toMatchObject({ message: expect.stringMatching(/access_denied|0800/) });
  });

  test.each([
    "redirect-wrong-issuer",
    "redirect-issuer-missing",
    "redirect-issuer-normalized",
    "redirect-error-wrong-issuer",
    "redirect-twice-code",
  ] as Quirk[])("ends the sign-in before any code is sent on, because of %s", async (quirk) => {
    const world = await createOAuthWorld([quirk]);
    await expect(world.session().signIn(world.person)).rejects.toMatchObject({ code: "SIGN_IN_FAILED" });
    expect(world.authorization.count("/token")).toBe(0);
  });

  test("a response with another state is not used, and the sign-in times out", async () => {
    const world = await createOAuthWorld(["redirect-wrong-state"]);
    const clock = createFakeClock(Date.now());
    const failed = expect(world.session({ clock }).signIn(world.person)).rejects.toMatchObject({
      code: "SIGN_IN_FAILED",
      message: expect.stringContaining("within 300 s"),
    });
    await vi.waitFor(() => expect(world.events.map(({ kind }) => kind)).toContain("callback-rejected"), 30_000);
    clock.advance(300_000);
    await failed;
    expect(world.authorization.count("/token")).toBe(0);
  });

  test("a pasted response with another state is rejected at once", async () => {
    const world = await createOAuthWorld(["redirect-wrong-state"]);
    const remote: Ask = {
      show: async ({ way }) => (await fetch(way.url, { redirect: "manual" })).headers.get("location") ?? "",
    };
    await expect(world.session().signIn(remote)).rejects.toMatchObject({
      code: "SIGN_IN_FAILED",
      message: expect.stringContaining("state"),
    });
  });

  test("[TS-OAUTH-4] a denied sign-in is reported with advice, and the text of the server is sanitized", async () => {
    const world = await createOAuthWorld(["redirect-denied"]);
    await expect(world.session().signIn(world.person)).rejects.toMatchObject({
      code: "SIGN_IN_FAILED",
      message: expect.stringContaining("access_denied: The user denied the request."),
    });
  });
});

describe("[TS-OAUTH-9] scopes", () => {
  const choice = {
    challenged: [],
    configured: [],
    resourceScopes: undefined,
    previous: [],
    server: { scopes: undefined },
  };

  test.each([
    [
      "those of the configuration before all others",
      { challenged: ["c"], configured: ["k"], resourceScopes: ["r"] },
      ["k"],
    ],
    [
      "those of the challenge in any case if it asks for more",
      { challenged: ["c"], configured: ["k"], isStepUp: true },
      ["k", "c"],
    ],
    ["those of the challenge before those of the metadata", { challenged: ["c"], resourceScopes: ["r"] }, ["c"]],
    ["those of the metadata", { resourceScopes: ["r", "s"] }, ["r", "s"]],
    ["previous ones are kept", { challenged: ["c"], previous: ["p", "c"] }, ["p", "c"]],
    ["none without a source", { server: { scopes: ["a", "b", "offline_access"] } }, []],
    [
      "offline_access in addition to others",
      { challenged: ["c"], server: { scopes: ["a", "offline_access"] } },
      ["c", "offline_access"],
    ],
  ])("selects scopes in the documented order: %s", (_, given, scopes) => {
    expect(selectScopes({ ...choice, ...given })).toEqual(scopes);
  });

  test("scopes are parsed as in RFC 6749, within limits", () => {
    expect(parseScopes("a  b a https://x/y")).toEqual(["a", "b", "https://x/y"]);
    expect(parseScopes('a"b c\\d \u0007 ok')).toEqual(["ok"]);
    expect(parseScopes(Array.from({ length: 500 }, (_, n) => `s${n}`).join(" "))).toHaveLength(64);
    expect(parseScopes(`${"x".repeat(300)} ok`)).toEqual(["ok"]);
    expect(parseScopes(undefined)).toEqual([]);
  });
});
