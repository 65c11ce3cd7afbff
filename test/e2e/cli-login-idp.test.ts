import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { browsingPerson, createLoginWorld, type LoginWorld } from "./login-world.test.helper.js";
import { type RealAuthorizationServer, startRealAuthorizationServer } from "./real-authorization-server.test.helper.js";

const tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const idJag = "urn:ietf:params:oauth:token-type:id-jag";
const call = ["call", "notes", "read", "--trust"];

interface Organization {
  readonly world: LoginWorld;
  readonly provider: RealAuthorizationServer;
  /** The identity tokens that were exchanged. */
  readonly exchanged: readonly string[];
}

/** An identity provider that exchanges identity tokens, and a server whose authorization server accepts the result. */
async function startOrganization(idTokenS = 600): Promise<Organization> {
  const exchanged: string[] = [];
  const provider = await startRealAuthorizationServer({
    idTokenS,
    clients: [
      {
        client_id: "wirescope-at-idp",
        token_endpoint_auth_method: "none",
        redirect_uris: ["http://127.0.0.1/callback"],
        grant_types: ["authorization_code", "refresh_token", tokenExchange],
        application_type: "native",
      },
    ],
    grantTypes: {
      async [tokenExchange]({ subject_token = "", audience, requested_token_type }) {
        const [, claims = ""] = subject_token.split(".");
        const { sub, exp } = JSON.parse(Buffer.from(claims, "base64url").toString());
        if (exp * 1000 < Date.now() || requested_token_type !== idJag) throw new Error("refused");
        exchanged.push(subject_token);
        return { access_token: `assertion for ${sub} at ${audience}`, issued_token_type: idJag, token_type: "N_A" };
      },
    },
  });
  const world = await createLoginWorld({
    clients: [
      {
        client_id: "wirescope",
        client_secret: "the secret of the client",
        token_endpoint_auth_method: "client_secret_basic",
        redirect_uris: [],
        response_types: [],
        grant_types: [jwtBearer],
      },
    ],
    grantTypes: {
      async [jwtBearer]({ assertion = "", scope = "" }, issue) {
        if (!assertion.startsWith("assertion for ada at http://127.0.0.1")) throw new Error("refused");
        return { access_token: await issue(scope), token_type: "Bearer", expires_in: 300 };
      },
    },
  });
  mkdirSync(join(world.home, ".config", "wirescope"), { recursive: true });
  const settings = {
    url: world.tool.url,
    grant: "enterprise",
    identityProvider: provider.issuer,
    clientId: "wirescope",
    clientSecret: "${NOTES_SECRET}",
  };
  writeFileSync(join(world.home, ".config", "wirescope", "oauth.json"), JSON.stringify({ notes: settings }));
  return { world, provider, exchanged };
}

const env = { NOTES_SECRET: "the secret of the client" };
const login = ({ provider }: Organization): string[] => ["login", "--idp", provider.issuer];

test("[TS-D-IDP-1] signs in to an identity provider once, and uses a server without asking again", async () => {
  const organization = await startOrganization();
  const { world, exchanged } = organization;
  const before = await world.run(call, { env });
  expect(before).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`wirescope ${login(organization).join(" ")}`),
  });

  const signedIn = await world.run([...login(organization), "--client-id", "wirescope-at-idp"], {
    person: browsingPerson(),
  });
  expect(signedIn).toMatchObject({ code: 0, stdout: expect.stringMatching(/ as ada\. It is renewed automatically\./) });
  expect(await world.run(call, { env })).toMatchObject({ code: 0, stdout: expect.stringContaining("milk, eggs") });
  expect(exchanged).toHaveLength(1);
  expect(world.authorization.count("/auth")).toBe(0);
  expect(world.filesWith(exchanged)).toEqual([]);
});

test("[TS-D-IDP-2] renews the identity token without the person, and asks for a sign-in once that is refused", async () => {
  const lifetimeS = 3;
  const organization = await startOrganization(lifetimeS);
  const { world, provider, exchanged } = organization;
  await world.run([...login(organization), "--client-id", "wirescope-at-idp"], { person: browsingPerson() });
  const callWhenExpired = async () => {
    const expiredAt = Date.now() + lifetimeS * 1000;
    await world.run(["logout", "notes", "--trust"], { env });
    await expect.poll(() => Date.now(), { timeout: 60_000 }).toBeGreaterThan(expiredAt);
    return world.run(call, { env });
  };
  expect(await callWhenExpired()).toMatchObject({ code: 0 });
  // The first request signed in, one renewed the identity token, and one exchanged it.
  expect({ exchanges: exchanged.length, requests: provider.count("/token") }).toEqual({ exchanges: 1, requests: 3 });
  await provider.endGrants();
  const refused = await callWhenExpired();
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(login(organization).join(" ")) });
  for (const token of exchanged) expect(refused.stdout + refused.stderr).not.toContain(token);
});

test("[TS-D-IDP-3] deletes the tokens of an identity provider, after which its servers need a sign-in", async () => {
  const organization = await startOrganization();
  const { world, provider } = organization;
  await world.run([...login(organization), "--client-id", "wirescope-at-idp"], { person: browsingPerson() });
  const logout = ["logout", "--idp", provider.issuer];
  expect(await world.run(logout)).toMatchObject({ code: 0, stdout: expect.stringContaining("Deleted the tokens") });
  expect(await world.run(logout)).toMatchObject({ code: 0, stdout: expect.stringContaining("You were not signed in") });
  expect(await world.run(call, { env })).toMatchObject({ code: 1, stderr: expect.stringContaining("login --idp") });
});

test("[TS-D-IDP-4] explains what is missing: a server or a provider, and the client id", async () => {
  const organization = await startOrganization();
  const { world } = organization;
  expect(await world.run(["login"])).toMatchObject({ code: 2, stderr: expect.stringContaining("or --idp <issuer>") });
  expect(await world.run(["login", "notes", "--idp", "https://idp.example.com"])).toMatchObject({ code: 2 });
  expect(await world.run(login(organization))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("--client-id"),
  });
});

test.each(["http://idp.example.com/authorize", "/authorize&calc"])(
  "[TS-D-IDP-4] opens no browser for an identity provider whose sign-in page is %s",
  async (page) => {
    const { world } = await startOrganization();
    const provider = createServer((_, response) => {
      const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
      const metadata = {
        issuer,
        authorization_endpoint: new URL(page, issuer).href,
        token_endpoint: `${issuer}/token`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        jwks_uri: `${issuer}/jwks`,
      };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(metadata));
    });
    await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void provider.close());
    const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    let isAsked = false;
    const result = await world.run(["login", "--idp", issuer, "--client-id", "wirescope"], {
      person: async (question) => {
        isAsked ||= question.includes("browser");
        return "y";
      },
    });
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("authorization_endpoint is invalid") });
    expect(isAsked).toBe(false);
  },
);
