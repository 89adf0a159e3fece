# syntax=docker/dockerfile:1

# Node 24 has an SQLite driver, so nothing has to be compiled.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm install --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.js ./scripts/
COPY src ./src
RUN npm run build
# Packages of optional features, such as "ioredis jose oidc-provider"; docs/deploy.md lists them.
ARG OPTIONAL_PACKAGES=""
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/better-sqlite3 \
  && if [ -n "$OPTIONAL_PACKAGES" ]; then npm install --no-save --omit=dev --ignore-scripts --no-audit --no-fund $OPTIONAL_PACKAGES; fi

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    ASYNCGATE_ENV=production \
    ASYNCGATE_HOST=0.0.0.0 \
    ASYNCGATE_PORT=8080
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY docs ./docs
COPY LICENSE ./
# The working directory is the only one that the server writes to, so the root file system can be read-only.
RUN mkdir /data && chown node:node /data
WORKDIR /data
VOLUME /data
USER node
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.ASYNCGATE_PORT + '/health/ready').then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
CMD ["serve"]
