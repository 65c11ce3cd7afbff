import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Quirks, startQuirks } from "@wirescope/quirks";
import { expect, onTestFinished, test } from "vitest";
import { type Run, startGateway, type TerminalUser } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld, type LoginWorld, urlPrintedIn } from "./login-world.test.helper.js";

interface OriginWorld {
  readonly world: LoginWorld;
  readonly quirks: Quirks;
  /** Where the sign-in page is: not at the origin of the authorization server. */
  readonly foreign: string;
  /** Signs in as this user; without one, as a browser that follows the url, without a terminal. */
  login(person: TerminalUser | undefined, ...more: readonly string[]): Promise<Run>;
}

/** `isThrough` says whether a gateway is running, which the commands then sign in. */
async function createOriginWorld(isThrough: boolean): Promise<OriginWorld> {
  const quirks = await startQuirks({ quirks: ["endpoint-other-origin"] });
  onTestFinished(() => quirks.close());
  const world = await createLoginWorld();
  world.configure({ notes: { type: "http", url: quirks.tool.url } });
  const { env, folder, shared } = world;
  if (isThrough) await startGateway(["--port", "0", "--log", "off", "--trust", ...shared], { env, cwd: folder });
  return {
    world,
    quirks,
    foreign: quirks.authorization.origin.replace("127.0.0.1", "localhost"),
    login(person, ...more) {
      let printed = "";
      const onStderr = (text: string): void => {
        printed += text;
        if (person === undefined && /^ {2}http/m.test(text)) void fetch(urlPrintedIn(printed)).catch(() => {});
      };
      const trust = isThrough ? [] : ["--trust"];
      return world.run(["login", "notes", ...trust, ...more], { person, onStderr });
    },
  };
}

/** A user who replies like this about the origin, and otherwise does what is asked. */
function deciding(word: string): TerminalUser {
  const browse = browsingPerson();
  return (question, ...rest) =>
    question.includes("belong together") ? Promise.resolve(word) : browse(question, ...rest);
}

test.each([
  ["by itself", false],
  ["through the gateway", true],
])(
  "login %s asks about a sign-in page at another origin, and opens nothing without confirmation",
  async (_, isThrough) => {
    const { quirks, foreign, login } = await createOriginWorld(isThrough);
    const no = await login(deciding(""));
    expect(no.code).toBe(1);
    expect(no.stderr).toContain(
      `notes uses the authorization server ${quirks.authorization.issuer}, whose sign-in page is at another origin: ${foreign}\n`,
    );
    expect(no.stderr).not.toContain("Open this URL in a browser");
    expect(quirks.authorization.count("/authorize")).toBe(0);
    const yes = await login(deciding("y"));
    expect(yes.stderr).toContain(`The sign-in page is at ${foreign}.\n`);
    expect(yes.code).toBe(0);
  },
);

test.each([
  ["by itself", false],
  ["through the gateway", true],
])(
  "[TS-D-OAUTH-5] login %s names a token endpoint at another origin, in the question about the page and in what it shows before the sign-in",
  async (_, isThrough) => {
    const { quirks, login } = await createOriginWorld(isThrough);
    const { origin } = quirks.authorization;
    let page = origin;
    const server = createServer((request, response) => {
      const { searchParams, pathname } = new URL(request.url ?? "", origin);
      if (pathname === "/authorize") {
        const back = `${searchParams.get("redirect_uri")}?error=access_denied&state=${searchParams.get("state")}`;
        response.writeHead(302, { location: back }).end();
        return;
      }
      const { port } = server.address() as AddressInfo;
      const issuer = `http://127.0.0.1:${port}`;
      const metadata = {
        issuer,
        authorization_endpoint: `${page}/authorize`,
        token_endpoint: `http://localhost:${port}/token`,
        registration_endpoint: `${origin}/register`,
        code_challenge_methods_supported: ["S256"],
      };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(metadata));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    quirks.tool.authorizationServers = [`http://127.0.0.1:${port}`];
    const named = `Tokens are requested from http://localhost:${port}, another origin.\n`;

    const asked = await login(deciding(""));
    expect(asked.code).toBe(1);
    expect(asked.stderr).toContain(named);
    page = `http://127.0.0.1:${port}`;
    const shown = await login(undefined);
    expect(shown.code).toBe(1);
    expect(shown.stderr.split("Open this URL")[0]).toContain(named);
  },
);

test.each([
  ["by itself", false],
  ["through the gateway", true],
])(
  "login %s names the option that accepts the origin if nobody is at the terminal, and the option works",
  async (_, isThrough) => {
    const { quirks, foreign, login } = await createOriginWorld(isThrough);
    const advice = `wirescope login notes --authorization-origin ${foreign}`;
    const refused = await login(undefined);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(advice);
    const other = await login(undefined, "--authorization-origin", "https://login.example.com");
    expect(other.stderr).toContain(advice);
    expect(quirks.authorization.count("/authorize")).toBe(0);
    const accepted = await login(undefined, "--authorization-origin", foreign);
    expect(accepted.code).toBe(0);
    expect(await login(undefined, "--authorization-origin", "login")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--authorization-origin requires an origin"),
    });
  },
);
