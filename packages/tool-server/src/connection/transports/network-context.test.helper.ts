import { onTestFinished } from "vitest";
import type { Credential } from "../../auth/credentials/credential.js";
import { createHeaderCredential } from "../../auth/credentials/fixed-credential.js";
import { createHttpClient, type HttpClientOptions } from "../../http/create-http-client.js";
import type { NetworkContext, TransportContext } from "./transport.js";
import { createTestContext, type TestContext } from "./transport-context.test.helper.js";

/** A context for a server on the network, with a client of HTTP that is closed with the test. */
export function overNetwork<Context extends TransportContext>(
  context: Context,
  url: URL | string,
  options: Partial<HttpClientOptions> = {},
): Context & NetworkContext {
  const { server, info, secrets } = context;
  const http = createHttpClient({ server, secrets, transport: () => info, ...options });
  onTestFinished(() => http.close());
  return { ...context, url: new URL(url), http };
}

/** A credential that has these headers in turn: the next where the server refuses, as long as there is one. */
function createCredentialOf(
  secrets: TestContext["secrets"],
  ...values: readonly Readonly<Record<string, string>>[]
): Credential & { readonly refusals: readonly number[] } {
  const credentials = values.map((headers) =>
    createHeaderCredential({
      server: "notes",
      secrets,
      headers: Object.entries(headers).map(([name, value]) => ({ name, value, variables: ["API_TOKEN"] })),
    }),
  );
  let index = 0;
  const refusals: number[] = [];
  const current = (): Credential => credentials[index] ?? credentials[0]!;
  return {
    kind: "headers",
    refusals,
    headers: (request) => current().headers(request),
    environment: () => ({}),
    async refused(refusal) {
      refusals.push(refusal.status);
      if (refusal.attempt > 1 || index + 1 >= credentials.length) return current().refused(refusal);
      index += 1;
      return { action: "retry" };
    },
    describe: () => current().describe(),
    dispose: async () => {},
  };
}

/** What a test may want to be otherwise in the context of a network. */
export type NetworkChanges = Partial<TransportContext> & {
  /** What the credential has, in turn. */
  readonly headers?: readonly Readonly<Record<string, string>>[];
  /** A secret that is known. */
  readonly secret?: string;
  readonly http?: Partial<HttpClientOptions>;
};

/** A context for a server on the network that signs in with these headers, in turn. */
export function createNetworkContext(
  kind: "ws" | "sse" | "http",
  url: URL | string,
  { headers = [{}], secret, http = {}, ...changes }: NetworkChanges = {},
): TestContext & NetworkContext & { readonly refusals: readonly number[] } {
  const context = createTestContext(kind, changes);
  if (secret !== undefined) context.secrets.add(secret);
  const credential = createCredentialOf(context.secrets, ...headers);
  return { ...overNetwork({ ...context, credential }, url, http), refusals: credential.refusals };
}
