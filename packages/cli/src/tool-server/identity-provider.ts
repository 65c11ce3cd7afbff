import { createSecretRegistry, type SecretRegistry } from "@wirescope/tool-server";
import { createIdentityLogin, type IdentityLogin } from "@wirescope/tool-server/auth";
import { createHttpClient } from "@wirescope/tool-server/internal";
import type { Io } from "../io.js";
import { UsageError } from "../usage-error.js";
import { type KeyCreation, openVault } from "./open-vault.js";
import { readPem } from "./read-pem.js";
import type { ServerValues } from "./server-options.js";

/** The user's sign-in with an identity provider. */
export interface OpenIdentity extends AsyncDisposable {
  readonly login: IdentityLogin;
  readonly secrets: SecretRegistry;
}

/** Opens the stored sign-in of an identity provider. Throws a UsageError if the issuer is invalid. */
export async function openIdentity(
  issuer: string,
  clientId: string | undefined,
  values: ServerValues,
  io: Io,
  keyCreation: KeyCreation,
): Promise<OpenIdentity> {
  const secrets = createSecretRegistry();
  const none = { kind: "none", summary: "none", headers: [], environment: [] } as const;
  const connection = { kind: "http", name: issuer, target: issuer, tenant: {}, credential: () => none } as const;
  const transport = { connection, target: issuer };
  const ca = readPem(values.ca, "--ca");
  const http = createHttpClient({
    server: issuer,
    transport: () => transport,
    secrets,
    variables: io.env,
    ...(ca === undefined ? {} : { tls: { ca } }),
  });
  const vault = await openVault(values.vault, io, secrets, keyCreation);
  const close = async (): Promise<void> => {
    await http.close();
    await vault.dispose();
  };
  try {
    const login = createIdentityLogin({
      issuer,
      clientId,
      profile: values.profile ?? (io.env.WIRESCOPE_PROFILE || "default"),
      vault,
      http,
      secrets,
      allowInsecureLoopback: values["allow-insecure-loopback"],
    });
    return { login, secrets, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error instanceof TypeError ? new UsageError(`--idp: ${error.message}`) : error;
  }
}
