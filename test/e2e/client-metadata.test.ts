import type { AddressInfo } from "node:net";
import { startHostileAuthorizationServer, startHostileToolServer } from "@wirescope/quirks";
import { createSecretRegistry, createToolServers, type OAuthOverrides } from "@wirescope/tool-server";
import { createMemoryVault } from "@wirescope/tool-server/auth";
import { createConfiguration } from "@wirescope/tool-server/config";
import { describe, expect, onTestFinished, test } from "vitest";
import { createDocumentServer } from "../../deploy/client-metadata/serve.mjs";

const clientMetadataUrl = "https://auth.example.com/oauth/client-metadata.json";

/** The server of the document, on this machine; resolves with its origin. */
async function startDocumentServer(): Promise<string> {
  const server = createDocumentServer(clientMetadataUrl);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server whose authorization server fetches documents from `origin`, and a call of its tool by a person who signs in. */
async function signInAndCall(
  quirks: Parameters<typeof startHostileAuthorizationServer>[0],
  origin: string,
  overrides: OAuthOverrides = { clientMetadataUrl },
) {
  const fetched: string[] = [];
  const authorization = await startHostileAuthorizationServer({
    ...quirks,
    async fetchDocument(url) {
      fetched.push(url);
      const response = await fetch(`${origin}${new URL(url).pathname}`, { redirect: "error" });
      if (response.headers.get("content-type") !== "application/json") throw new Error("It is no JSON.");
      return (await response.json()) as Record<string, unknown>;
    },
  });
  const tool = await startHostileToolServer({
    authorizationServers: [authorization.issuer],
    scopesOf: (token) => authorization.scopesOf(token),
  });
  const clientIds: (string | null)[] = [];
  const secrets = createSecretRegistry();
  const servers = createToolServers({
    configuration: createConfiguration({ notes: { url: tool.url } }, { secrets }),
    variables: {},
    pluginRoot: "/",
    secrets,
    assertTrusted: async () => {},
    settings: { info: { name: "test", version: "1" } },
    oauth: {
      vault: createMemoryVault(),
      allowInsecureLoopback: true,
      overrides: () => overrides,
      signIn: {
        async show({ way }) {
          clientIds.push(new URL(way.url).searchParams.get("client_id"));
          await fetch(way.url);
          return undefined;
        },
      },
    },
  });
  onTestFinished(async () => {
    await servers.close();
    await Promise.all([authorization.close(), tool.close()]);
  });
  const call = async (): Promise<unknown> => (await servers.open("notes")).callTool({ name: "scopes" });
  return { authorization, fetched, clientIds, call };
}

describe("[TS-D-OAUTH-12] the client-id metadata document of the project", () => {
  test("serves the document of a public native client as application/json at its path, next to a page that explains it", async () => {
    const origin = await startDocumentServer();
    const response = await fetch(`${origin}${new URL(clientMetadataUrl).pathname}`);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toMatchObject({
      client_id: clientMetadataUrl,
      redirect_uris: ["http://127.0.0.1/callback", "http://localhost/callback"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    });
    expect(await (await fetch(origin)).text()).toContain(clientMetadataUrl);
    expect((await fetch(`${origin}/other`)).status).toBe(404);
    expect(() => createDocumentServer("https://auth.example.com/")).toThrow(TypeError);
  });

  test("offers no document unless its address is set, because its owner decides where codes are sent", async () => {
    const origin = await startDocumentServer();
    const both = await signInAndCall({ quirks: ["takes-metadata-documents"] }, origin, {});
    await both.call();
    expect(both.clientIds).toEqual([expect.stringMatching(/^client-/)]);
    const quirks = ["takes-metadata-documents", "registration-absent"] as const;
    const one = await signInAndCall({ quirks }, origin, {});
    await expect(one.call()).rejects.toMatchObject({
      code: "REGISTRATION_REFUSED",
      advice: expect.stringContaining("set clientMetadataUrl"),
    });
    expect([...both.fetched, ...one.fetched, ...one.clientIds]).toEqual([]);
  });

  test("signs in to a server that accepts nothing else", async () => {
    const quirks = ["takes-metadata-documents", "registration-absent"] as const;
    const { call, clientIds, fetched, authorization } = await signInAndCall({ quirks }, await startDocumentServer());
    expect(await call()).toMatchObject({ content: [{ text: expect.stringContaining("notes:read") }] });
    expect(clientIds).toEqual([clientMetadataUrl]);
    expect(fetched).toContain(clientMetadataUrl);
    expect(authorization.count("/register")).toBe(0);
  });

  test("prefers the document to a registration", async () => {
    const { call, authorization } = await signInAndCall(
      { quirks: ["takes-metadata-documents"] },
      await startDocumentServer(),
    );
    await call();
    expect(authorization.count("/register")).toBe(0);
  });

  test("registers a client if the server cannot read the document, before a browser opens", async () => {
    const { call, clientIds, authorization } = await signInAndCall(
      { quirks: ["takes-metadata-documents"] },
      "http://127.0.0.1:9",
    );
    expect(await call()).toMatchObject({ content: [{ text: expect.stringContaining("notes:read") }] });
    expect(clientIds).toEqual([expect.stringMatching(/^client-/)]);
    expect(authorization.count("/register")).toBe(1);
  });

  test("names the document in the error if the server can neither read it nor register a client", async () => {
    const quirks = ["takes-metadata-documents", "registration-absent"] as const;
    const { call, clientIds } = await signInAndCall({ quirks }, "http://127.0.0.1:9");
    await expect(call()).rejects.toMatchObject({
      code: "REGISTRATION_REFUSED",
      message: expect.stringContaining(`does not accept the client-id metadata document ${clientMetadataUrl}`),
    });
    expect(clientIds).toEqual([]);
  });
});
