export { type Html, html, pageHeaders, pageOf } from "./html.js";
export { createPage, type Page, type PlainPageRequest, type PlainPages } from "./page.js";
export {
  createPageAccess,
  entrancePath,
  type PageAccess,
  type PageLink,
  type SessionStore,
  type StoredSession,
} from "./page-access.js";
export { parseStatusPath, statusPathOf } from "./page-paths.js";
export { sendEntrance, sendMessage, sendRefusal } from "./send-page.js";
