import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Those we are measured beside, in versions that were tried. */
const versions = { "mcp-proxy": "6.7.19", supergateway: "4.0.0", "mcp-remote": "0.15.1", "mcp-hub": "4.2.1" } as const;

export type PeerName = keyof typeof versions;

const folder = fileURLToPath(new URL("../../.peers", import.meta.url));

/**
 * Installs the peers below `benchmarks/.peers`, once. Resolves with a function that gives the path of a file of one; with
 * undefined if they cannot be installed, having said why.
 */
export async function installPeers(): Promise<((peer: PeerName, path: string) => string) | undefined> {
  const wanted = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
  const record = join(folder, "installed");
  if (!existsSync(record) || readFileSync(record, "utf8") !== wanted.join("\n")) {
    console.error(`Installing the peers: ${wanted.join(", ")}.`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"private": true}\n');
    const code = await npm(["install", "--loglevel=error", "--no-progress", "--prefix", folder, ...wanted]);
    if (code !== 0) {
      console.error(
        `The peers cannot be installed: npm ended with ${code}. We are measured without them. ` +
          "Check that the npm registry can be reached (npm ping --loglevel=notice), and run this again.",
      );
      return undefined;
    }
    writeFileSync(record, wanted.join("\n"));
  }
  return (peer, path) => join(folder, "node_modules", peer, path);
}

function npm(args: readonly string[]): Promise<number | string> {
  return new Promise((resolve) => {
    const child = spawn("npm", args, { stdio: ["ignore", 2, 2], shell: process.platform === "win32" });
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code, signal) => resolve(code ?? String(signal)));
  });
}
