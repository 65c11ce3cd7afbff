// Checks every published package with publint, as npm would pack it.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { command, root } from "./setup.mjs";

await command(async () => {
  const { publint } = await import("publint");
  const { formatMessage } = await import("publint/utils");
  let problems = 0;
  for (const name of readdirSync(join(root, "packages"))) {
    const pkgDir = join(root, "packages", name);
    const pkg = JSON.parse(readFileSync(join(pkgDir, "package.json"), "utf8"));
    if (pkg.private) continue;
    const { messages } = await publint({ pkgDir, pack: "npm", level: "warning", strict: true });
    for (const message of messages) console.error(`packages/${name}/package.json: ${formatMessage(message, pkg)}`);
    problems += messages.length;
  }
  if (problems === 0) return 0;
  console.error(`\n${problems} problem(s) would be published. Fix the package.json named above.`);
  return 1;
});
