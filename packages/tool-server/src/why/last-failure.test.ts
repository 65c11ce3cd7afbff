import { describe, expect, test } from "vitest";
import { startBareIssuer } from "../auth/oauth/bare-issuer.test.helper.js";
import type { OAuthLoginOptions } from "../auth/oauth/login/login-options.js";
import { callTool, createOAuthWorld, type OAuthWorld } from "../auth/oauth/oauth-world.test.helper.js";
import { explainEntry, firstOf } from "./explain.test.helper.js";
import type { Explanation } from "./explanation.js";

const ofEntry = { server: "api", tenant: "[]" };

/** What another process explains, which knows only the vault. */
function explain(world: OAuthWorld): Promise<Explanation> {
  const openVault = async () => ({ ...world.vault, dispose: async () => {} });
  return explainEntry({ type: "http", url: world.tool.url }, { oauth: { profile: "test", openVault } });
}

/** An authorization server whose browser page redirects at once, and whose token endpoint responds like this. */
async function useIssuer(world: OAuthWorld, token: readonly [number, object | string]): Promise<void> {
  const issuer = await startBareIssuer(({ path }, self) => {
    if (path.startsWith("/.well-known/")) {
      const endpoints = { token_endpoint: `${self}/token`, device_authorization_endpoint: `${self}/device` };
      return [200, { issuer: self, code_challenge_methods_supported: ["S256"], ...endpoints }];
    }
    if (path === "/token") return token;
    return [200, { device_code: "d", user_code: "ABCD", verification_uri: `${self}/enter`, interval: 0.01 }];
  });
  world.tool.authorizationServers = [issuer];
}

interface Failing {
  readonly prepare: (world: OAuthWorld) => void | Promise<void>;
  readonly options?: Partial<OAuthLoginOptions>;
  readonly problem: string;
}

const client = { client: { clientId: "us" } };

const failing: Readonly<Record<string, Failing>> = {
  "a registration that is refused": {
    prepare: (world) => void world.authorization.quirks.add("registration-refused"),
    problem: "refused the client registration",
  },
  "a token endpoint that does not respond": {
    prepare: (world) => {
      world.authorization.beforeToken = () => new Promise(() => {});
    },
    options: { limits: { tokenMs: 200 } },
    problem: "did not respond within 0.2 s to the request for a token",
  },
  "a token endpoint that responds with a form": {
    prepare: (world) => useIssuer(world, [200, "access_token=a&token_type=bearer"]),
    options: client,
    problem: "its response is not a JSON object",
  },
  "a client that the token endpoint does not know": {
    prepare: (world) => useIssuer(world, [401, { error: "invalid_client" }]),
    options: client,
    problem: "invalid_client",
  },
  "a redirect of another issuer": {
    prepare: (world) => void world.authorization.quirks.add("redirect-wrong-issuer"),
    problem: "one server may be impersonating another",
  },
  "a redirect without its state": {
    prepare: (world) => void world.authorization.quirks.add("redirect-wrong-state"),
    options: { limits: { signInMs: 500 } },
    problem: "was not completed within 0.5 s",
  },
  "a user who declines": {
    prepare: (world) => void world.authorization.quirks.add("redirect-denied"),
    problem: "access_denied",
  },
};

describe("[TS-D-WHY-11] the last failure of a sign-in", () => {
  test.each(Object.entries(failing))(
    "names it in another process, which has only the vault: %s",
    async (_, { prepare, options, problem }) => {
      const world = await createOAuthWorld();
      await prepare(world);
      const login = world.session({ ...ofEntry, ...options });
      await expect(login.signIn(world.person)).rejects.toMatchObject({ message: expect.stringContaining(problem) });
      await login.close();
      const cause = firstOf(await explain(world));
      expect(cause.problem).toContain(problem);
      expect(cause.evidence.join(" ")).toMatch(/The last sign-in failed with this error, .* ago\./);
    },
  );

  test("forgets it once a sign-in succeeds, and after a sign-out", async () => {
    const world = await createOAuthWorld(["redirect-denied"]);
    const login = world.session(ofEntry);
    await expect(login.signIn(world.person)).rejects.toThrow("access_denied");
    world.authorization.quirks.delete("redirect-denied");
    expect((await login.store.readFailure())?.operation).toBe("sign-in");
    await login.signIn(world.person);
    expect(await login.store.readFailure()).toBeUndefined();
    world.authorization.quirks.add("redirect-denied");
    await expect(login.signIn(world.person)).rejects.toThrow("access_denied");
    await login.signOut();
    expect(await login.store.readFailure()).toBeUndefined();
  });

  test("does not keep that of a sign-in that was abandoned", async () => {
    const world = await createOAuthWorld();
    const login = world.session(ofEntry);
    const leaving = new AbortController();
    const left = login.signIn({ show: async () => void leaving.abort(new Error("gone")) }, {}, leaving.signal);
    await expect(left).rejects.toThrow("gone");
    expect(await login.store.readFailure()).toBeUndefined();
  });
});

test("[TS-D-WHY-11] a renewal that fails is named by another process until one succeeds", async () => {
  const world = await createOAuthWorld();
  const login = world.session(ofEntry);
  const first = await login.signIn(world.person);
  world.authorization.quirks.add("refresh-dead-unclear");
  world.authorization.endAllAccess();
  expect(await (await login.tokens())?.replace(first)).toBeUndefined();
  const last = await login.store.readFailure();
  expect(last).toMatchObject({ operation: "refresh", error: { code: "TOKEN_REFUSED" } });
  await login.close();
  const { causes } = await explain(world);
  expect(causes.flatMap(({ evidence }) => evidence).join(" ")).toContain("The last renewal of the token failed");
});

test("[TS-D-WHY-11] a scope that is never granted is named, although the server works without it", async () => {
  const world = await createOAuthWorld();
  world.tool.challengedScope = "admin";
  const { credential, session } = world.credential(ofEntry, world.person);
  await callTool(world.tool, credential);
  const { scopesOf } = world.authorization;
  world.tool.neededScope = "admin";
  world.authorization.scopesOf = () => [];
  expect((await callTool(world.tool, credential)).status).toBe(403);
  await session.close();
  world.tool.neededScope = undefined;
  world.authorization.scopesOf = scopesOf;
  const { causes, notes } = await explain(world);
  const text = [...causes, ...notes].map(({ problem }) => problem).join(" ");
  expect(text).toContain("It was requested at sign-in, but not granted.");
});
