{{- define "isthmus.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/part-of: isthmus
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* Labels of pods: without versions, so that a new chart restarts only those whose image or command line is another. */}}
{{- define "isthmus.podLabels" -}}
app.kubernetes.io/part-of: isthmus
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* Not empty if daemons report about policies, for which they read the southbound database and NetworkPolicies. */}}
{{- define "isthmus.policyReports" -}}
{{- if or .Values.policies.counters (ne (.Values.policies.drops | default "off") "off") }}true{{ end }}
{{- end }}

{{- define "isthmus.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "isthmus.ovnImage" -}}
{{ .Values.ovnImage.repository }}:{{ .Values.ovnImage.tag | default (index .Chart.Annotations "isthmus.network/ovn-image-tag") }}
{{- end }}

{{- /* Address for kubelet's probes of a process on the host network. */}}
{{- define "isthmus.probeHost" -}}
{{- if not (has .Values.metrics.bindAddress (list "0.0.0.0" "::")) }}
host: {{ .Values.metrics.bindAddress }}
{{- end }}
{{- end }}

{{- /* Probes of one of our programs. Use: dict "root" $ "port" 10660 */}}
{{- define "isthmus.probes" -}}
startupProbe:
  httpGet:
    path: /healthz
    port: {{ .port }}
    {{- include "isthmus.probeHost" .root | nindent 4 }}
  periodSeconds: 1
  failureThreshold: 180
livenessProbe:
  httpGet:
    path: /healthz
    port: {{ .port }}
    {{- include "isthmus.probeHost" .root | nindent 4 }}
  periodSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet:
    path: /readyz
    port: {{ .port }}
    {{- include "isthmus.probeHost" .root | nindent 4 }}
  periodSeconds: 2
{{- end }}

{{- /* Probes of a server of a database. Use: its name in /run/ovn */}}
{{- define "isthmus.databaseProbes" -}}
startupProbe:
  exec: { command: [ovsdb-client, --timeout=5, list-dbs, "unix:/run/ovn/{{ . }}.sock"] }
  timeoutSeconds: 6
  periodSeconds: 1
  failureThreshold: 180
readinessProbe:
  exec: { command: [ovsdb-client, --timeout=5, list-dbs, "unix:/run/ovn/{{ . }}.sock"] }
  timeoutSeconds: 6
{{- end }}

{{- define "isthmus.metricsAddress" -}}
{{- $host := .root.Values.metrics.bindAddress -}}
{{ contains ":" $host | ternary (printf "[%s]" $host) $host }}:{{ .port }}
{{- end }}

{{- /* The least a container needs; root only where a comment beside it says why. */}}
{{- define "isthmus.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
capabilities: { drop: [ALL] }
{{- end }}

{{- define "isthmus.podDefaults" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "isthmus.ovnScheme" -}}
{{ if .Values.ovn.tls.enabled }}ssl{{ else }}tcp{{ end }}
{{- end }}

{{- /* Labels as a selector: a=b,c=d. */}}
{{- define "isthmus.selector" -}}
{{- $parts := list }}
{{- range $key, $value := . }}{{ $parts = append $parts (printf "%s=%s" $key $value) }}{{ end }}
{{- join "," $parts }}
{{- end }}

{{- /*
How our programs find OVN's databases: where this chart runs them, in a ConfigMap, because members come and go; their own by name. Flags for TLS are for
those of others, ours bring certificates.
*/}}
{{- define "isthmus.ovnArgs" -}}
{{- if not .Values.ovn.central.deploy }}
- --nb={{ .Values.ovn.remotes.nb }}
- --sb={{ .Values.ovn.remotes.sb }}
{{- if .Values.ovn.tls.secretName }}
- --ovn-ca=/etc/isthmus/ovn-tls/ca.crt
- --ovn-cert=/etc/isthmus/ovn-tls/tls.crt
- --ovn-key=/etc/isthmus/ovn-tls/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- /* For the servers and northd: what central writes. */}}
{{- define "isthmus.memberTlsArgs" -}}
{{- if .Values.ovn.tls.enabled }}
- --private-key=/run/ovn/tls/tls.key
- --certificate=/run/ovn/tls/tls.crt
- --ca-cert=/run/ovn/tls/ca.crt
{{- end }}
{{- end }}
{{- /* For ovn-controller, where the databases are others'. For ours the daemon tells it in the switch's database, also one that runs since a release before. */}}
{{- define "isthmus.chassisTlsArgs" -}}
{{- if .Values.ovn.tls.secretName }}
- --private-key=/etc/isthmus/ovn-tls/tls.key
- --certificate=/etc/isthmus/ovn-tls/tls.crt
- --ca-cert=/etc/isthmus/ovn-tls/ca.crt
{{- end }}
{{- end }}
{{- define "isthmus.ovnTlsMount" -}}
{{- if .Values.ovn.tls.secretName }}
- { name: ovn-tls, mountPath: /etc/isthmus/ovn-tls, readOnly: true }
{{- end }}
{{- end }}
{{- define "isthmus.ovnTlsVolume" -}}
{{- with .Values.ovn.tls.secretName }}
- name: ovn-tls
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- end }}

{{- define "isthmus.spread" -}}
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels: { app.kubernetes.io/name: {{ . }} }
{{- end }}

{{- define "isthmus.interconnectSecret" -}}
{{ .Values.interconnect.existingSecret | default "isthmus-interconnect-token" }}
{{- end }}

{{- /* Use: dict "name" "networking.podCIDR" "value" … */}}
{{- define "isthmus.validateCidrs" -}}
{{- $octet := "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])" }}
{{- $v4 := printf "%s([.]%s){3}/(3[0-2]|[12]?[0-9])" $octet $octet }}
{{- $v6 := "[0-9a-f:]*:[0-9a-f:]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9])" }}
{{- if not (regexMatch (printf "^(%s(,%s)?|%s(,%s)?)$" $v4 $v6 $v6 $v4) .value) }}
{{- fail (printf "%s: %q is not an IPv4 CIDR, an IPv6 CIDR (lower case), or both separated by a comma, such as 10.16.0.0/16" .name .value) }}
{{- end }}
{{- end }}

{{- /* Nodes have tunnels to each other at every moment of a rollout. Without a cluster, as with `helm template`, nothing is known of one. */}}
{{- define "isthmus.validateTunnelChange" -}}
{{- $wanted := .Values.networking.encapType }}
{{- $daemon := lookup "apps/v1" "DaemonSet" .Release.Namespace "isthmus-daemon" | default dict }}
{{- range dig "spec" "template" "spec" "containers" list $daemon }}
{{- range .args | default list }}
{{- if hasPrefix "--encap-type=" . }}
{{- $running := trimPrefix "--encap-type=" . }}
{{- if and (ne $running $wanted) (not (or (contains $wanted $running) (contains $running $wanted))) }}
{{- fail (printf "networking.encapType: from %s to %s, nodes with the new type would have no tunnels to the others until all have it; first set it to \"geneve,vxlan\" (--set 'networking.encapType=geneve\\,vxlan'), and to %s once all nodes have that" $running $wanted $wanted) }}
{{- end }}
{{- $status := $daemon.status | default dict }}
{{- $isRolled := and (eq (int $daemon.metadata.generation) (int $status.observedGeneration)) (eq (int $status.updatedNumberScheduled) (int $status.desiredNumberScheduled)) (eq (int $status.numberReady) (int $status.desiredNumberScheduled)) }}
{{- if and (ne $running $wanted) (not $isRolled) }}
{{- fail (printf "networking.encapType: not all nodes have the type %s yet, and nodes without it may have no tunnels to those with %s; wait for kubectl -n %s rollout status daemonset isthmus-daemon" $running $wanted $daemon.metadata.namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "isthmus.validate" -}}
{{- include "isthmus.validateCidrs" (dict "name" "networking.podCIDR" "value" .Values.networking.podCIDR) }}
{{- include "isthmus.validateCidrs" (dict "name" "networking.joinCIDR" "value" .Values.networking.joinCIDR) }}
{{- include "isthmus.validateCidrs" (dict "name" "hub.transitCIDR" "value" .Values.hub.transitCIDR) }}
{{- if not (has (int .Values.ovn.central.replicas) (list 0 1 3 5)) }}
{{- fail (printf "ovn.central.replicas: %d members lose their majority as soon as fewer do; say 1, 3 or 5, or 0 for three where there are as many nodes, else one" (int .Values.ovn.central.replicas)) }}
{{- end }}
{{- if and .Values.ovn.central.deploy .Values.ovn.tls.secretName }}
{{- fail "ovn.tls.secretName is for databases that you run yourself (ovn.central.deploy=false); those of this chart make, deliver and renew their certificates themselves" }}
{{- end }}
{{- with .Values.ovn.tls.authoritySecrets }}
{{- if and .members (eq .members .chassis) }}
{{- fail "ovn.tls.authoritySecrets: members and chassis need two CAs, because a certificate of the first one may write every row of OVN's databases" }}
{{- end }}
{{- end }}
{{- if not (or .Values.ovn.central.deploy (and .Values.ovn.remotes.nb .Values.ovn.remotes.sb)) }}
{{- fail "ovn.remotes.nb and ovn.remotes.sb are needed when ovn.central.deploy is false" }}
{{- end }}
{{- $type := .Values.networking.encapType }}
{{- if and (contains "vxlan" $type) (or .Values.interconnect.enabled .Values.interconnect.hub) }}
{{- fail (printf "networking.encapType is %s, and keys of transit switches have more bits than VXLAN carries: leave it at geneve for a member of an interconnect" $type) }}
{{- end }}
{{- include "isthmus.validateTunnelChange" . }}
{{- if and .Values.interconnect.hub (not .Values.clusterName) }}
{{- fail "clusterName is needed with interconnect.hub: the name of this cluster among the members" }}
{{- end }}
{{- if and .Values.interconnect.token (not .Values.interconnect.hub) }}
{{- fail "interconnect.hub is needed with interconnect.token: host:port of the hub" }}
{{- end }}
{{- if and .Values.hub.enabled (not .Values.hub.address) }}{{ fail "hub.address is needed when hub.enabled: the host name or IP address by which all clusters reach it" }}{{ end }}
{{- end }}

{{/* Of programs whose memory is to stay small: a small young generation, little room to grow between two collections … */}}
{{- define "isthmus.frugalFlags" -}}
--expose-gc, --max-semi-space-size=4, --heap-growing-percent=40
{{- end }}

{{- /* Where the programs find the API server if the Service `kubernetes` does not lead there. Overrides what kubelet sets. */}}
{{- define "isthmus.apiServerEnv" -}}
{{- with .Values.apiServer.host }}
- { name: KUBERNETES_SERVICE_HOST, value: {{ . | quote }} }
- { name: KUBERNETES_SERVICE_PORT, value: {{ $.Values.apiServer.port | quote }} }
{{- end }}
{{- end }}

{{/* … and memory that is freed goes back to the node. */}}
{{- define "isthmus.frugalEnv" -}}
- { name: MALLOC_ARENA_MAX, value: "1" }
- { name: MALLOC_MMAP_THRESHOLD_, value: "65536" }
- { name: MALLOC_TRIM_THRESHOLD_, value: "65536" }
{{- end }}
