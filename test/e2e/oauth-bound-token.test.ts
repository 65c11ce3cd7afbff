import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createOAuthCredential } from "@wirescope/tool-server/auth";
import { EmbeddedJWK, jwtVerify } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { createRealWorld, type RealWorld } from "./oauth-world.test.helper.js";

interface BoundToolServer {
  readonly url: string;
  /** The errors in the received proofs. */
  readonly defects: string[];
  /** How many requests got 200. */
  served: number;
}

/** A tool server that accepts only tokens with a proof, each proof once, and requires a nonce if it has one. */
async function startBoundToolServer(
  { authorization: { issuer, find } }: RealWorld,
  nonce?: () => string,
): Promise<BoundToolServer> {
  const seen = new Set<unknown>();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const self: BoundToolServer = { url: `${origin}/mcp`, defects: [], served: 0 };
  const about = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
  server.on("request", async (request, response) => {
    const refuse = (challenge: string, headers = {}): void =>
      void response.writeHead(401, { "www-authenticate": `DPoP ${challenge}${about}`, ...headers }).end();
    if (request.url !== "/mcp") {
      response.end(
        JSON.stringify({
          resource: self.url,
          authorization_servers: [issuer],
          scopes_supported: ["openid", "notes:read"],
        }),
      );
      return;
    }
    const [scheme, token = ""] = (request.headers.authorization ?? "").split(" ");
    if (scheme === "") return refuse("");
    if (scheme !== "DPoP" || (await find(token)) === undefined) {
      self.defects.push(`scheme ${scheme}`);
      return refuse('error="invalid_token", ');
    }
    try {
      const { payload } = await jwtVerify(String(request.headers.dpop), EmbeddedJWK, {
        typ: "dpop+jwt",
        algorithms: ["ES256"],
        maxTokenAge: 60,
      });
      const ath = createHash("sha256").update(token).digest("base64url");
      if (payload.ath !== ath || payload.htm !== "POST" || payload.htu !== self.url)
        self.defects.push("not of this request");
      if (seen.has(payload.jti)) self.defects.push("seen before");
      seen.add(payload.jti);
      if (nonce !== undefined && payload.nonce !== nonce())
        return refuse('error="use_dpop_nonce", ', { "dpop-nonce": nonce() });
    } catch (error) {
      self.defects.push(String(error));
    }
    self.served += 1;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: {} }));
  });
  return self;
}

test("sends bound tokens to a tool server that requires them, with a new proof for each request", async () => {
  const world = await createRealWorld();
  const tool = await startBoundToolServer(world);
  const credential = createOAuthCredential({ session: world.session({ url: tool.url }), signIn: world.person });
  for (let call = 0; call < 5; call += 1) expect((await world.call(credential, tool.url)).status).toBe(200);
  expect(tool).toMatchObject({ defects: [], served: 5 });
  expect(credential.describe().headers).toMatchObject([{ name: "Authorization", scheme: "DPoP" }]);
});

test("uses a nonce that a tool server requires, even when it changes", async () => {
  const world = await createRealWorld({ requiresNonce: true });
  let nonce = "first";
  const tool = await startBoundToolServer(world, () => nonce);
  const credential = createOAuthCredential({ session: world.session({ url: tool.url }), signIn: world.person });
  expect(await world.call(credential, tool.url)).toMatchObject({ status: 200, attempts: 3 });
  expect(await world.call(credential, tool.url)).toMatchObject({ status: 200, attempts: 1 });
  nonce = "second";
  expect(await world.call(credential, tool.url)).toMatchObject({ status: 200, attempts: 2 });
  expect(tool.defects).toEqual([]);
});

test("gives up if a tool server requires a new nonce each time", async () => {
  const world = await createRealWorld();
  let nonces = 0;
  const tool = await startBoundToolServer(world, () => {
    nonces += 1;
    return `n${nonces}`;
  });
  const credential = createOAuthCredential({ session: world.session({ url: tool.url }), signIn: world.person });
  const call = await world.call(credential, tool.url);
  expect(call.status).toBe(401);
  expect(call.failure?.message).toContain("nonce");
  expect(call.attempts).toBeLessThanOrEqual(3);
});

test("(5) refreshes a bound token that is refused after a nonce was required, without asking anybody", async () => {
  const world = await createRealWorld();
  const session = world.session({ bindsTokens: true });
  await session.signIn(world.person);
  const credential = createOAuthCredential({ session: world.session({ bindsTokens: true }), signIn: world.person });
  const refuse = async (attempt: number, challenge: string, dpopNonce?: string) => {
    const sent = await credential.headers();
    return { sent, decision: await credential.refused({ status: 401, sent, attempt, challenge, dpopNonce }) };
  };
  const first = await refuse(1, 'DPoP error="use_dpop_nonce"', "n1");
  const second = await refuse(2, 'DPoP error="invalid_token"');
  expect([first, second].map(({ decision }) => decision.action)).toEqual(["retry", "retry"]);
  expect((await credential.headers()).Authorization).not.toBe(second.sent.Authorization);
  expect(world.asked).toHaveLength(1);
  // A renewed token that is rejected too needs a sign-in; the token of that sign-in ends it.
  const third = await refuse(3, 'DPoP error="invalid_token"');
  const fourth = await refuse(4, 'DPoP error="invalid_token"');
  expect([third, fourth].map(({ decision }) => decision.action)).toEqual(["retry", "give-up"]);
  expect(world.asked).toHaveLength(2);
});
