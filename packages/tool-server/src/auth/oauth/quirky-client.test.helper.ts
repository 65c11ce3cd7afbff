import { type Quirk, type Quirks, type QuirksServer, startQuirks } from "@wirescope/quirks";
import { onTestFinished } from "vitest";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { createToolServers, type ToolServers } from "../../connection/servers/tool-servers.js";
import { ToolServerError, type ToolServerErrorCode } from "../../errors.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { createMemoryVault } from "../vault/memory-vault.js";
import type { Vault } from "../vault/vault.js";
import { createPerson } from "./oauth-world.test.helper.js";
import type { SignInPrompt } from "./sign-in/ask.js";

/** How a call ends: with a result, or with this error code. */
export type Outcome = "result" | ToolServerErrorCode;

/** A client of a tool server with these quirks, whose user signs in whenever asked. Ends with the test. */
export interface QuirkyClient extends Quirks {
  readonly servers: ToolServers;
  /** The requested paths, in order. */
  readonly places: readonly QuirksServer[];
  /** The sign-in requests so far. */
  readonly signInRequests: readonly SignInPrompt[];
  /** The pages that the user's browser ended at. */
  readonly pages: readonly string[];
  /** The messages of the calls that failed. */
  readonly messages: readonly string[];
  /** Connects if necessary, and calls the tool. */
  call(): Promise<Outcome>;
}

/** `vault` stores the tokens; default: a new one. */
export async function createQuirkyClient(
  quirks: readonly Quirk[],
  vault: Vault = createMemoryVault(),
): Promise<QuirkyClient> {
  const places: QuirksServer[] = [];
  const messages: string[] = [];
  const started = await startQuirks({ quirks, onRequest: (place) => places.push(place) });
  const secrets = createSecretRegistry();
  const { person, signInRequests, pages } = createPerson();
  const text = JSON.stringify({ notes: { type: "http", url: started.tool.url } });
  const servers = createToolServers({
    configuration: parseConfiguration(text, { secrets }),
    variables: {},
    pluginRoot: process.cwd(),
    secrets,
    assertTrusted: async () => {},
    oauth: { vault, signIn: person, allowInsecureLoopback: true },
    settings: { info: { name: "test", version: "0" } },
  });
  onTestFinished(async () => {
    await servers.close();
    await vault.dispose();
    await started.close();
  });
  return {
    ...started,
    servers,
    places,
    signInRequests,
    pages,
    messages,
    async call() {
      try {
        const connection = await servers.open("notes");
        await connection.connect();
        await connection.callTool({ name: "scopes", arguments: {} });
        return "result";
      } catch (error) {
        if (!ToolServerError.is(error)) throw error;
        messages.push(error.message);
        return error.code;
      }
    },
  };
}
