import { expect, onTestFinished, test } from "vitest";
import { startBareIssuer } from "../bare-issuer.test.helper.js";
import { parseResourceChallenge } from "../discovery/resource-challenge.js";
import type { OAuthLogin } from "../login/oauth-login.js";
import type { OAuthStep } from "../oauth-step.js";
import { createOAuthWorld, type OAuthWorld } from "../oauth-world.test.helper.js";

/** A tool server whose authorization server has only a device flow, and issues a token at the second request for it. */
async function createDeviceWorld(): Promise<{ readonly world: OAuthWorld; readonly asked: readonly string[] }> {
  const world = await createOAuthWorld();
  const asked: string[] = [];
  const issuer = await startBareIssuer(({ path }, self) => {
    asked.push(path);
    if (path.startsWith("/.well-known/")) {
      const endpoints = { token_endpoint: `${self}/token`, device_authorization_endpoint: `${self}/device` };
      return [200, { issuer: self, ...endpoints }];
    }
    if (path === "/device") {
      const code = { device_code: "the-device-code", user_code: "ABCD-EFGH", verification_uri: `${self}/enter` };
      return [200, { ...code, verification_uri_complete: `${self}/enter?user_code=ABCD-EFGH`, interval: 0.01 }];
    }
    const isFirst = asked.filter((each) => each === "/token").length === 1;
    return isFirst
      ? [400, { error: "authorization_pending" }]
      : [200, { access_token: "the-device-token", token_type: "Bearer" }];
  });
  world.tool.authorizationServers = [issuer];
  return { world, asked };
}

/** The steps of a session, from now on. */
function stepsOf({ context }: OAuthLogin): OAuthStep[] {
  const steps: OAuthStep[] = [];
  onTestFinished(context.log.subscribe((event) => event.kind === "request" && steps.push(event.step), true));
  return steps;
}

test("[TS-D-WHY-9] a sign-in by device is observed without its codes and its token", async () => {
  const { world } = await createDeviceWorld();
  const session = world.session({ client: { clientId: "us" } });
  const steps = stepsOf(session);
  await session.signIn(world.person);
  expect(steps.slice(-4).map(({ name, outcome, status }) => [name, outcome, status])).toEqual([
    ["client", "ok", undefined],
    ["device code", "ok", 200],
    ["token", "skipped", 400],
    ["token", "ok", 200],
  ]);
  for (const secret of ["the-device-code", "ABCD-EFGH", "the-device-token"]) {
    expect(JSON.stringify(steps)).not.toContain(secret);
  }
});

test("[TS-D-WHY-10] a sign-in by device stops before it requests a code, and reports the request", async () => {
  const { world, asked } = await createDeviceWorld();
  const session = world.session({ client: { clientId: "us" } });
  const steps = stepsOf(session);
  await expect(session.signIn(world.person, { isDryRun: true })).rejects.toMatchObject({ code: "SIGN_IN_NEEDED" });
  expect(steps.at(-1)).toMatchObject({ name: "device code", isPlanned: true, sent: { client_id: "us" } });
  expect(asked.filter((path) => !path.startsWith("/.well-known/"))).toEqual([]);
});

test("[TS-D-WHY-8] a client-id metadata document is reported as the client that was chosen", async () => {
  const world = await createOAuthWorld(["takes-metadata-documents"]);
  const clientMetadataUrl = "https://wirescope.example/client.json";
  const session = world.session({ clientMetadataUrl });
  const steps = stepsOf(session);
  const signingIn = session.signIn(world.person, { isDryRun: true });
  await expect(signingIn).rejects.toMatchObject({ code: "SIGN_IN_NEEDED" });
  expect(steps.slice(-2)).toMatchObject([
    {
      name: "client",
      received: { chosen: expect.stringMatching(/^client-id metadata/), client_id: clientMetadataUrl },
    },
    { name: "authorization request", isPlanned: true, sent: { client_id: clientMetadataUrl } },
  ]);
});

test("[TS-D-WHY-8] a request that gets no response is a failed step with the reason", async () => {
  const world = await createOAuthWorld();
  world.tool.authorizationServers = ["http://127.0.0.1:1"];
  const session = world.session();
  const steps = stepsOf(session);
  await expect(session.signIn(world.person)).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  expect(steps.at(-1)).toMatchObject({
    name: "authorization server metadata",
    outcome: "failed",
    failure: expect.stringContaining("127.0.0.1:1"),
  });
});

test("a response that is nested more deeply than the stack allows is observed in part, and its tokens are used", async () => {
  const world = await createOAuthWorld();
  const depth = 50_000;
  const issuer = await startBareIssuer(({ path }, self) => {
    const endpoints = { token_endpoint: `${self}/token` };
    if (path.startsWith("/.well-known/")) return [200, { issuer: self, ...endpoints }];
    const nested = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    return [200, `{"access_token":"the-token","token_type":"Bearer","extra":${nested}}`];
  });
  world.tool.authorizationServers = [issuer];
  const client = { clientId: "robot", clientSecret: "the-client-secret" };
  const session = world.session({ client, grant: { kind: "client-credentials" } });
  const steps = stepsOf(session);
  const tokens = await session.tokens({ challenge: parseResourceChallenge("Bearer") });
  expect((await tokens?.replace(undefined))?.record.accessToken).toBe("the-token");
  expect(steps.at(-1)).toMatchObject({ name: "token", outcome: "ok", received: { extra: '[[[["…"]]]]' } });
});
