import "./design/tokens.css";
import { render } from "preact";
import { App } from "./shell/app.js";
import { addShellCommands } from "./shell/palette/shell-commands.js";
import { listenForShortcuts } from "./shell/shortcuts.js";
import { followMoment, followPastServers, watchLive } from "./shell/store/index.js";

const root = document.getElementById("app");
if (root !== null) {
  listenForShortcuts();
  addShellCommands();
  watchLive();
  followMoment();
  followPastServers();
  render(<App />, root);
}
