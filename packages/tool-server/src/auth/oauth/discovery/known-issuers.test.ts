import { describe, expect, test } from "vitest";
import { createOAuthWorld, currentToken, replaceToken } from "../oauth-world.test.helper.js";

describe("[TS-D-OAUTH-7] the settings of a sign-in", () => {
  test("sends no resource with resource: false, neither for the code nor for the token and its renewal", async () => {
    const world = await createOAuthWorld();
    const session = world.session({ resource: false });
    await session.signIn(world.person);
    await replaceToken(session, await currentToken(session));
    const sent = world.authorization.requests.filter(({ path }) => path === "/authorize" || path === "/token");
    expect(sent.map(({ path }) => path)).toEqual(["/authorize", "/token", "/token"]);
    for (const { query, form } of sent) expect([query.has("resource"), form.has("resource")]).toEqual([false, false]);
  });

  test("replaces the published resource by the one of the settings, also for tokens of an earlier sign-in", async () => {
    const world = await createOAuthWorld();
    await world.session().signIn(world.person);
    const session = world.session({ resource: "api://3f0c" });
    await replaceToken(session, await currentToken(session));
    const [, , renewed] = world.authorization.requests.filter(({ path }) => path === "/authorize" || path === "/token");
    expect(renewed?.form.get("resource")).toBe("api://3f0c");
  });

  test("adds parameters to the authorization request, and replaces none of ours", async () => {
    const world = await createOAuthWorld();
    const authorizeParameters = { audience: "https://api.example.com", state: "fixed" };
    await world.session({ authorizeParameters }).signIn(world.person);
    const request = world.authorization.requests.find(({ path }) => path === "/authorize");
    expect(request?.query.get("audience")).toBe("https://api.example.com");
    expect(request?.query.getAll("state")).toEqual([expect.stringMatching(/^[\w-]{43}$/)]);
  });

  test("signs in with assumePkce to a server whose metadata does not list PKCE, with PKCE", async () => {
    const world = await createOAuthWorld(["pkce-absent"]);
    await world.session({ assumePkce: true }).signIn(world.person);
    const request = world.authorization.requests.find(({ path }) => path === "/authorize");
    expect(request?.query.get("code_challenge_method")).toBe("S256");
  });
});

describe("[TS-D-OAUTH-9] prompt", () => {
  test("sends no prompt by itself, even if offline_access is requested", async () => {
    const world = await createOAuthWorld();
    world.tool.challengedScope = "notes:read";
    await world.session().signIn(world.person);
    const request = world.authorization.requests.find(({ path }) => path === "/authorize");
    expect(request?.query.get("scope")).toContain("offline_access");
    expect(request?.query.has("prompt")).toBe(false);
  });

  test("sends prompt if a setting says so", async () => {
    const world = await createOAuthWorld();
    await world.session({ authorizeParameters: { prompt: "consent" } }).signIn(world.person);
    const request = world.authorization.requests.find(({ path }) => path === "/authorize");
    expect(request?.query.get("prompt")).toBe("consent");
  });
});
