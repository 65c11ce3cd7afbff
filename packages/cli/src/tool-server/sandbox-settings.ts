import type { SandboxSettings } from "@wirescope/tool-server";
import { vaultVariables } from "@wirescope/tool-server/auth";
import { oauthFilePath, ownFolders } from "@wirescope/tool-server/internal";
import type { Io } from "../io.js";
import { policyOf } from "./ask-for-trust.js";

/**
 * Keeps stdio servers and helpers away from the vault, its key, the folders of Wirescope and these files, as the policy says.
 * `onMissing` gets each reason once why servers, or helpers, run without a sandbox.
 */
export function sandboxSettings(
  io: Io,
  files: readonly string[] = [],
  onMissing: NonNullable<SandboxSettings["onMissing"]> = () => {},
): SandboxSettings {
  const { PATH, CREDENTIALS_DIRECTORY, [vaultVariables.keyFile]: keyFile } = io.env;
  const reported = new Set<string>();
  const given = [keyFile, oauthFilePath(io.env), CREDENTIALS_DIRECTORY, ...files];
  return {
    hidden: [...ownFolders(io.env), ...given.filter((each) => each !== undefined && each !== "")] as string[],
    rule: async () => (await policyOf(io))?.sandbox ?? "auto",
    searchPath: PATH,
    onMissing(reason, program) {
      const key = `${program} ${reason}`;
      if (!reported.has(key)) onMissing(reason, program);
      reported.add(key);
    },
  };
}
