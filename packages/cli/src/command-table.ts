import { addCommand, importCommand } from "./commands/add.js";
import { authCommand } from "./commands/auth.js";
import { bridgeCommand } from "./commands/bridge.js";
import { callCommand } from "./commands/call.js";
import { checkCommand } from "./commands/check.js";
import type { Command } from "./commands/command.js";
import { debugCommand, reconnectCommand, reloadCommand } from "./commands/gateway-commands.js";
import { inputsCommand } from "./commands/inputs.js";
import { installCommand } from "./commands/install.js";
import { loginCommand, logoutCommand } from "./commands/login.js";
import { pageCommand } from "./commands/page.js";
import { pingCommand } from "./commands/ping.js";
import { promptsCommand } from "./commands/prompts.js";
import { channelsCommand, serversCommand, showCommand, socketsCommand, treeCommand } from "./commands/read-commands.js";
import { resourcesCommand } from "./commands/resources.js";
import { statusCommand } from "./commands/status.js";
import { toolsCommand } from "./commands/tools.js";
import { trustCommand } from "./commands/trust.js";
import { demoCommand, upCommand } from "./commands/up.js";
import { whyCommand } from "./commands/why.js";

/** Every verb, in the order of the help. */
export const commands: readonly Command[] = [
  upCommand,
  statusCommand,
  channelsCommand,
  serversCommand,
  socketsCommand,
  showCommand,
  treeCommand,
  addCommand,
  importCommand,
  checkCommand,
  trustCommand,
  inputsCommand,
  toolsCommand,
  callCommand,
  resourcesCommand,
  promptsCommand,
  pingCommand,
  whyCommand,
  reconnectCommand,
  reloadCommand,
  debugCommand,
  loginCommand,
  logoutCommand,
  authCommand,
  pageCommand,
  installCommand,
  bridgeCommand,
  demoCommand,
];
