export { type Io, type Output, processIo } from "./io.js";
export { main, runProcess } from "./main.js";
