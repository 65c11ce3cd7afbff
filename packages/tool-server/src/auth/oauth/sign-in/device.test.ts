import { expect, test } from "vitest";
import { createFakeClock, type FakeClock } from "../../../fake-clock.test.helper.js";
import { startBareIssuer } from "../bare-issuer.test.helper.js";
import { createOAuthWorld, type OAuthWorld } from "../oauth-world.test.helper.js";
import type { Ask, SignInPrompt } from "./ask.js";

interface DeviceWorld {
  readonly world: OAuthWorld;
  readonly clock: FakeClock;
  /** When the token endpoint was polled, in milliseconds since the code was issued. */
  readonly polls: number[];
  readonly signInRequests: SignInPrompt[];
  /** `stepMs` is how far the clock advances at once. */
  signIn(signIn?: Ask, stepMs?: number): Promise<unknown>;
}

/** An authorization server with only a device flow: the token endpoint returns these responses in order, and repeats the last. */
async function createDeviceWorld(
  responses: readonly (readonly [number, object])[],
  device: object = {},
): Promise<DeviceWorld> {
  const world = await createOAuthWorld();
  const clock = createFakeClock(Date.now());
  const begun = clock.now();
  const polls: number[] = [];
  const signInRequests: SignInPrompt[] = [];
  const issuer = await startBareIssuer(({ path }, self) => {
    if (path.startsWith("/.well-known/")) {
      const endpoints = { token_endpoint: `${self}/token`, device_authorization_endpoint: `${self}/device` };
      return [200, { issuer: self, ...endpoints }];
    }
    if (path === "/device") {
      const code = {
        device_code: "the-device-code",
        user_code: "ABCD-EFGH",
        verification_uri: `${self}/enter`,
        expires_in: 600,
        interval: 5,
      };
      return [200, { ...code, ...device }];
    }
    polls.push(clock.now() - begun);
    return responses[Math.min(polls.length, responses.length) - 1] ?? [500, {}];
  });
  world.tool.authorizationServers = [issuer];
  const shown: Ask = {
    async show(request) {
      signInRequests.push(request);
      return undefined;
    },
  };
  return {
    world,
    clock,
    polls,
    signInRequests,
    async signIn(signIn = shown, stepMs = 1000) {
      const limits = { requestMs: 1e9, discoveryMs: 1e9, signInMs: 1e9 };
      const session = world.session({ clock, limits, client: { clientId: "us" } });
      let isDone = false;
      const done = session.signIn(signIn).finally(() => {
        isDone = true;
      });
      done.catch(() => undefined);
      while (!isDone) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        // Its limits are too high to be reached, so that only the polling delays elapse.
        if (clock.waiting > 0) clock.advance(stepMs);
      }
      return done;
    },
  };
}

const pending = [400, { error: "authorization_pending" }] as const;
const tokens = [200, { access_token: "device-token", token_type: "Bearer", expires_in: 60 }] as const;

test("the device code is shown, and the server is polled at its interval until there are tokens", async () => {
  const { signIn, polls, signInRequests, world } = await createDeviceWorld([pending, pending, tokens]);
  expect(await signIn()).toMatchObject({ record: { accessToken: "device-token" } });
  expect(signInRequests[0]?.way).toMatchObject({
    kind: "device",
    userCode: "ABCD-EFGH",
    url: expect.stringMatching(/\/enter$/),
  });
  expect(polls).toHaveLength(3);
  for (const [index, poll] of polls.entries()) expect(poll - (polls[index - 1] ?? 0)).toBeGreaterThanOrEqual(5000);
  expect(world.secrets.redact("the-device-code")).not.toContain("the-device-code");
});

test("the server is polled at most once per second, whatever interval it names", async () => {
  const { signIn, polls } = await createDeviceWorld([pending, pending, pending, tokens], { interval: 0.0001 });
  await signIn(undefined, 100);
  for (const [index, poll] of polls.entries()) expect(poll - (polls[index - 1] ?? 0)).toBeGreaterThanOrEqual(1000);
});

test("slow_down increases the polling interval", async () => {
  const { signIn, polls } = await createDeviceWorld([[400, { error: "slow_down" }], pending, tokens]);
  await signIn();
  expect((polls[1] ?? 0) - (polls[0] ?? 0)).toBeGreaterThanOrEqual(10_000);
  expect((polls[2] ?? 0) - (polls[1] ?? 0)).toBeGreaterThanOrEqual(10_000);
});

test("a failing server is polled less often, but polling continues", async () => {
  const { signIn, polls } = await createDeviceWorld([[503, {}], tokens]);
  await signIn();
  expect((polls[1] ?? 0) - (polls[0] ?? 0)).toBeGreaterThanOrEqual(10_000);
});

test.each([
  [[[400, { error: "access_denied" }]], {}, "denied"],
  [[[400, { error: "expired_token" }]], {}, "in time"],
  [[pending], { expires_in: 12 }, "in time"],
] as const)("%j with %j ends the sign-in", async (responses, device, words) => {
  const { signIn } = await createDeviceWorld(responses, device);
  await expect(signIn()).rejects.toMatchObject({ code: "SIGN_IN_FAILED", message: expect.stringContaining(words) });
});

test("a user who declines ends the polling", async () => {
  const { signIn, polls } = await createDeviceWorld([pending]);
  await expect(signIn({ show: () => Promise.reject(new Error("not now")) })).rejects.toMatchObject({
    code: "SIGN_IN_FAILED",
    message: expect.stringContaining("not now"),
  });
  expect(polls.length).toBeLessThanOrEqual(1);
});

test.each([
  [{ verification_uri: "http://as.example/enter" }, "AUTHORIZATION_SERVER_INVALID"],
  [{ verification_uri: "javascript:alert(1)" }, "AUTHORIZATION_SERVER_INVALID"],
  [{ user_code: undefined }, "SIGN_IN_FAILED"],
] as const)("a device response with %j is not shown to anybody (CVE-2026-108716)", async (device, code) => {
  const { signIn, signInRequests } = await createDeviceWorld([tokens], device);
  await expect(signIn()).rejects.toMatchObject({ code });
  expect(signInRequests).toEqual([]);
});

test("control characters in a device code are removed", async () => {
  const { signIn, signInRequests } = await createDeviceWorld([tokens], { user_code: "\u001b[2JAB" });
  await signIn();
  expect(signInRequests[0]?.way).toMatchObject({ userCode: "\\x1b[2JAB" });
});
