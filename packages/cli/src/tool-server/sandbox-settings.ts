import { ownFolders, type SandboxSettings, vaultVariables } from "@wirescope/tool-server";
import type { Io } from "../io.js";
import { policyOf } from "./ask-for-trust.js";
import { oauthFilePath } from "./oauth-file.js";

/**
 * Keeps stdio servers away from the vault, its key, the folders of Wirescope and these files, as the policy says. `onMissing` gets
 * each reason once why a server runs without a sandbox.
 */
export function sandboxSettings(
  io: Io,
  files: readonly string[] = [],
  onMissing: (reason: string) => void = () => {},
): SandboxSettings {
  const { PATH, CREDENTIALS_DIRECTORY, [vaultVariables.keyFile]: keyFile } = io.env;
  const reported = new Set<string>();
  const given = [keyFile, oauthFilePath(io), CREDENTIALS_DIRECTORY, ...files];
  return {
    hidden: [...ownFolders(io.env), ...given.filter((each) => each !== undefined && each !== "")] as string[],
    rule: async () => (await policyOf(io))?.sandbox ?? "auto",
    searchPath: PATH,
    onMissing(reason) {
      if (!reported.has(reason)) onMissing(reason);
      reported.add(reason);
    },
  };
}
