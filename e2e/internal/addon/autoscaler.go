// SPDX-License-Identifier: Apache-2.0

package addon

// Scaler is an autoscaler that lowers the number of replicas without a delay of minutes.
const Scaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 2
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
  behavior: {scaleDown: {stabilizationWindowSeconds: 15}}
`
