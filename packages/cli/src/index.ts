export type { Io, Output } from "./io.js";
export { main, runProcess } from "./main.js";
