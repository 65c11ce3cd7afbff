import type { Quirk } from "@wirescope/quirks";
import { describe, expect, test } from "vitest";
import { parseAuthorizationServer } from "./discovery/metadata.js";
import { createOAuthWorld, currentToken, type OAuthWorld, replaceToken } from "./oauth-world.test.helper.js";

const spellings = ["X", "X/"] as const;
type Spelling = (typeof spellings)[number];

const combinations = spellings.flatMap((named) =>
  spellings.flatMap((published) =>
    ([undefined, ...spellings] as const).map((configured) => [named, published, configured] as const),
  ),
);

/** A world whose issuer is spelled as given in the metadata of the tool server, and in that of the authorization server. */
async function createSlashWorld(named: Spelling, published: Spelling, quirks: Quirk[] = []): Promise<OAuthWorld> {
  const world = await createOAuthWorld(published === "X/" ? ["metadata-issuer-slash", ...quirks] : quirks);
  world.tool.authorizationServers = [issuerOf(world, named)];
  return world;
}

function issuerOf({ authorization }: OAuthWorld, spelling: Spelling): string {
  return spelling.replace("X", authorization.origin);
}

describe("[TS-D-OAUTH-13] the slash at the end of an issuer", () => {
  test.each(combinations)(
    "signs in and renews if the tool server names the issuer %s, its metadata %s, and the settings %s",
    async (named, published, configured) => {
      const world = await createSlashWorld(named, published);
      const settings = configured === undefined ? {} : { issuer: issuerOf(world, configured) };
      const first = await world.session(settings).signIn(world.person);
      const second = world.session(settings);
      expect((await currentToken(second))?.revision).toBe(first.revision);
      expect(second.describe().issuer).toBe(issuerOf(world, configured ?? named));
      expect((await replaceToken(second, first))?.revision).not.toBe(first.revision);
      const notes = world.events.filter(({ text }) => text.includes("difference is accepted"));
      expect(notes).toHaveLength((configured ?? named) === published ? 0 : 1);
    },
  );

  test("rejects a response whose issuer has a slash that the metadata does not have, even if the tool server names it", async () => {
    const world = await createSlashWorld("X/", "X", ["redirect-issuer-normalized"]);
    await expect(world.session().signIn(world.person)).rejects.toMatchObject({ code: "SIGN_IN_FAILED" });
  });

  test.each([
    ["X", "X/"],
    ["X/", "X"],
  ] as const)(
    "asks before it signs in again if the tool server named the issuer %s before and names %s now",
    async (before, now) => {
      const world = await createSlashWorld(before, "X");
      await world.session().signIn(world.person);
      world.tool.authorizationServers = [issuerOf(world, now)];
      await expect(world.session().signIn(world.person)).rejects.toMatchObject({ code: "ISSUER_CHANGED" });
      expect(world.signInRequests).toHaveLength(1);
    },
  );

  test.each([
    ["https://as.example", "https://as.example//"],
    ["https://as.example/", "https://as.example//"],
    ["https://as.example/a", "https://as.example/a//"],
    ["https://as.example/a", "https://as.example/b/"],
    ["https://as.example/a", "https://as.example/"],
    ["https://as.example", "https://as.example.evil.example/"],
    ["https://as.example", "https://AS.example/"],
    ["https://as.example", "http://as.example/"],
    ["https://as.example", "https://as.example:443/"],
    ["https://as.example?t=a", "https://as.example?t=a/"],
    ["https://as.example#a", "https://as.example#a/"],
  ])("treats %s and %s as different issuers", async (one, other) => {
    const { context } = (await createOAuthWorld()).session();
    const parse = (issuer: string, named: string) =>
      parseAuthorizationServer({ issuer, token_endpoint: "https://as.example/token" }, named, context);
    expect(parse(one, other)).toMatch(/^its issuer is /);
    expect(parse(other, one)).toMatch(/^its issuer is /);
  });
});
